"""Signs beside equal words: +3 % and -3 %, $5 and €5, C++ and C#, one star and five.

A word is no other one where a dash, a bullet or a quotation mark is written in another way, so the search does not see
what stands between words; here it is compared, where both texts have the same two words beside each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import regex

from dedup.signature.tokens import SIGNS

# What is written in several ways.
_SAME = str.maketrans("∶∕⁄∗٪", "://*%")
_DASH = regex.compile(r"[\p{Pd}−]")
# Also before words.
_NEGATION = r"(?<=[\s(])[!¬](?=[\p{L}\p{N}(])|(?<=[=(<>*/+] ?)-(?=[\p{L}(])"
# A ratio, a face, a negation, any other sign.
_SIGN = regex.compile(rf"(?<=\p{{Nd}}):(?=\p{{Nd}})|(?<=[:;]-?)[()]|{_NEGATION}|[{SIGNS}\-]", regex.V1)
# What belongs to the word or number before it, or to the number behind it: a hyphen behind a letter is no minus, but
# scripts without spaces have no hyphens.
_PREFIX = r"[\p{Sm}\p{Sc}\-]--[|→⇒]"
_LETTER = r"[\p{L}\p{M}\p{N}]--[\p{lb=ID}\p{lb=SA}\p{lb=CJ}]"
_ATTACHED = regex.compile(
    r"(?<=[\p{L}\p{M}\p{N}])[+#]+|(?<=\p{N})[%‰°\p{Sc}]+"
    rf"|(?<![[{_PREFIX}][{_LETTER}]])(?!--)[{_PREFIX}]++(?=\p{{Nd}})"
    rf"|{_NEGATION}",
    regex.V1,
)
# Of what belongs to no word: separators mean nothing, one of the others is as good as a separator, bullets are alike.
_SEPARATORS = regex.compile(r"[-|>~─-▟]+")
_DECORATION = regex.compile(r"[\p{So}#→⇒∙⋅]*|[*/\\&@]")
_BULLET = regex.compile(r"[*■-▱▶-▻◀-◿→⇒➔➘-➾∙⋅]")

# The tokens before a place, and behind it.
_Sides = tuple[bytes, bytes]


class _Sign(NamedTuple):
    """The signs between two tokens; mostly there are none.

    Attributes:
        text: all of them.
        attached: those that belong to one of the tokens.
        between: what stands there.
    """

    text: str = ""
    attached: str = ""
    between: str = " "

    @classmethod
    def of(cls, before: str, between: str, behind: str) -> _Sign:
        """Find the signs between two tokens."""
        written = before[-1:] + _DASH.sub("-", between.translate(_SAME)) + behind[:1]
        return cls("".join(_SIGN.findall(written)), "".join(_ATTACHED.findall(written)), between)

    def is_other(self, sign: _Sign) -> bool:
        """Return whether these signs and others mean different things."""
        if self.text == sign.text:
            return False
        if self.attached != sign.attached:
            return True
        if not (self.text and sign.text):
            # What belongs to neither token was left out: a separator, an icon.
            return False
        ours, theirs = (_SEPARATORS.sub("", each.text) for each in (self, sign))
        if ours and theirs:
            return ours != theirs and not (_BULLET.fullmatch(ours) and _BULLET.fullmatch(theirs))
        return _DECORATION.fullmatch(ours + theirs) is None


class _Words:
    """The words of a text, as `dedup.signature.signature.Signature` has them."""

    def __init__(self, words: bytes) -> None:
        self._tokens, *self.places = words.split(b"\0")

    @cached_property
    def around(self) -> dict[_Sides, list[_Sides]]:
        """For each two tokens beside each other the tokens around them, wherever they are."""
        tokens = [b"", b"", *self._tokens.split(b"\n"), b"", b""]
        found: dict[_Sides, list[_Sides]] = {}
        for first, before, behind, last in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
            found.setdefault((before, behind), []).append((first, last))
        return found

    @cached_property
    def _with_sign(self) -> Counter[_Sides]:
        return Counter((before, behind) for before, _, behind in (place.split(b"\n") for place in self.places))

    def count_without_sign(self, sides: _Sides) -> int:
        """Count how often two tokens stand beside each other without a sign between them."""
        return len(self.around.get(sides, [])) - self._with_sign[sides]

    def is_in_same_place(self, sides: _Sides, other: _Words) -> bool:
        """Whether two tokens that both texts have beside each other have the same token before or behind them."""
        ours, theirs = (map(set, zip(*text.around[sides], strict=True)) for text in (self, other))
        return any(map(set.intersection, ours, theirs))


def differing_signs(ours: bytes, theirs: bytes) -> Iterator[tuple[str, str]]:
    """Yield where two texts have the same tokens beside each other, and other signs between them.

    Args:
        ours: the words of one text, as `dedup.signature.signature.Signature` has them.
        theirs: those of the other.

    Yields:
        Both tokens with what stands between them, in the one text and in the other.
    """
    first, second = _Words(ours), _Words(theirs)
    surplus = Counter(first.places)
    surplus.subtract(second.places)
    gone: dict[_Sides, list[_Sign]] = {}
    come: dict[_Sides, list[_Sign]] = {}
    for place, count in surplus.items():
        if count:
            before, between, behind = place.split(b"\n")
            sign = _Sign.of(before.decode(), between.decode(), behind.decode())
            (gone if count > 0 else come).setdefault((before, behind), []).extend([sign] * abs(count))
    for sides in sorted(gone.keys() | come.keys()):
        a, b = gone.get(sides, []), come.get(sides, [])
        if not (a and b) and not any(sign.attached for sign in (*a, *b)):
            continue
        a, b = _unpaired(a, b), _unpaired(b, a)
        if len(a) != len(b):
            fewer, text = (a, first) if len(a) < len(b) else (b, second)
            fewer += [_Sign()] * text.count_without_sign(sides)
        left, right = (token.decode() for token in sides)
        for sign, other in zip(a, b, strict=False):
            # Two numbers may come together by chance, a time in one text and a day in the other.
            if sign.is_other(other) and first.is_in_same_place(sides, second):
                yield f"{left}{sign.between}{right}", f"{left}{other.between}{right}"


def _unpaired(signs: list[_Sign], others: list[_Sign]) -> list[_Sign]:
    """Return those signs, in order, for which there is no sign of the same text among others."""
    paired = Counter(sign.text for sign in others)
    left = []
    for sign in sorted(signs):
        paired[sign.text] -= 1
        if paired[sign.text] < 0:
            left.append(sign)
    return left
