"""Which differences of two texts say another thing, and so which near-duplicates are worth a person's look.

A number, a date, a price, a name or a negation that gave way says another thing, and so does a long passage that
only the dropped text has. What is respelled or has moved does not, nor does what a site writes on many pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from enum import StrEnum
from typing import NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

from dedup.rules.numbers import is_number
from dedup.rules.shared_shingles import shared_tokens
from dedup.rules.word_comparison import TokenChange, are_unlike
from dedup.rules.word_lists import DATE_WORDS, FREE_WORDS, NEGATIONS, NUMBER_WORDS
from dedup.signature.normalise import normalise


class Kind(StrEnum):
    """What differs in one place, the most decisive kind first."""

    NEGATION = "negation"
    PRICE = "price"
    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    PASSAGE = "passage"
    WORDS = "words"
    OTHER = "other"
    FRAME = "frame"

    @property
    def rank(self) -> int:
        """Its place among the kinds, 0 the most decisive."""
        return _RANKS[self]

    @property
    def weight(self) -> int:
        """How much it says of whether the texts say the same; 0: nothing."""
        return _WEIGHTS.get(self, 0)

    @property
    def is_value(self) -> bool:
        """Whether a number, a price or a date gave way."""
        return self in (Kind.PRICE, Kind.NUMBER, Kind.DATE)


_RANKS = {kind: rank for rank, kind in enumerate(Kind)}
_WEIGHTS = {
    Kind.NEGATION: 3,
    Kind.PRICE: 3,
    Kind.NUMBER: 2,
    Kind.DATE: 2,
    Kind.NAME: 2,
    Kind.PASSAGE: 1,
    Kind.WORDS: 1,
}

# Tokens.
_LONGEST_NAME, _LONGEST_NEGATION, _LONGEST_VALUE, _SHORTEST_PASSAGE = 4, 8, 24, 40
# Of what denies and is only in the stored text: a longer clause is one that the other leaves out.
_LONGEST_LEFT_OUT = 4
# Bytes; shorter ones are articles and the like.
_SHORTEST_WORD = 4
# At its ends a page has dates, bylines and links that are no part of what it is about.
_EDGE = 8
# From so many misspellings on, where they are half of all, the text was read by a machine, digits too.
_FEWEST_MISSPELT = 3
# Letters in which two spellings of a word differ, less than half of it.
_RESPELT = 2
_DENYING = (b"un", b"in", b"im", b"ir", b"il", b"non", b"dis", b"mis", b"de", b"des", b"ent", b"miss")
# In so few places the words that gave way are all that the second text can be about.
_FEW_PLACES = 2

# At the ends of a text a date with its year says when it was written.
_YEAR = regex.compile(rb"(?:19|20)\d\d")
_HAN_NUMBER = regex.compile(r"\d*[一二三四五六七八九十百千万亿两零〇]+[元年月日号时点分个名人次岁]?")
_MONEY = regex.compile(r"\p{Sc}|\b(?:euros?|eur|dollars?|usd|pounds?|gbp|francs?|chf|pesos?)\b|[元块]")
# Without I, which is a word.
_ROMAN = regex.compile(rb"[ivx]{2,5}")
_HAN_NAME = regex.compile(r"\p{Han}{2,}")
_CAPITALISED = regex.compile(r"(?<=[\p{L}\p{N},;] )\p{Lu}[\p{L}\p{M}]+|\p{Lu}[\p{L}\p{M}]+(?= \p{Lu})")
_SMALL = regex.compile(r"\b\p{Ll}[\p{L}\p{M}]*")


def names_in(text: str) -> frozenset[bytes]:
    """Return the words, as tokens, that a text writes with a capital within sentences, and never without."""
    small = set(_SMALL.findall(text))
    return frozenset(normalise(word).encode() for word in _CAPITALISED.findall(text) if word.lower() not in small)


class _Own(NamedTuple):
    """The tokens in one place that are in no shingle of the other text.

    Attributes:
        a: those of the stored text.
        b: those of the other.
        is_edge: whether it is at an end of the text.
        before: the token of the stored text before it; empty: none.
    """

    a: list[bytes]
    b: list[bytes]
    is_edge: bool
    before: bytes = b""

    @property
    def longer(self) -> int:
        return max(len(self.a), len(self.b))


def is_price(*texts: str) -> bool:
    """Return whether a place where a number gave way, by its texts, is about money."""
    return any(map(_MONEY.search, texts))


def kinds_of(
    a: Sequence[bytes], b: Sequence[bytes], changes: Sequence[TokenChange], names: Set[bytes] = frozenset()
) -> list[Kind]:
    """Return the kinds of all changes.

    Args:
        a: the tokens of the stored text.
        b: those of the other.
        changes: what differs.
        names: tokens of the first that are names, as far as is known.
    """
    own = list(_own_tokens(a, b, changes))
    replaced = [each for each in own if each.a and each.b]
    misspelt = sum(not are_unlike(each.a, each.b) for each in replaced if not any(map(_is_value, each.a)))
    differing = sum(bool(each.a or each.b) for each in own)
    is_misread = misspelt >= _FEWEST_MISSPELT and 2 * misspelt >= differing
    swapped = Counter((*each.a, b"", *each.b) for each in replaced)
    names = {*names, *(token for each in replaced if swapped[*each.a, b"", *each.b] > 1 for token in each.a)}
    kinds = [_kind_of(each, names, is_misread=is_misread) for each in own]
    if differing > _FEW_PLACES:
        return [Kind.OTHER if kind is Kind.WORDS else kind for kind in kinds]
    return kinds


def _own_tokens(a: Sequence[bytes], b: Sequence[bytes], changes: Sequence[TokenChange]) -> Iterator[_Own]:
    ours, theirs = b"\n".join(a), b"\n".join(b)
    shared, other = shared_tokens(ours, theirs), shared_tokens(theirs, ours)
    for a_start, a_end, b_start, b_end in changes:
        ours_here, theirs_here = a[a_start:a_end], b[b_start:b_end]
        # A word that gave way in its place did so wherever else it stands; of longer stretches some has only moved.
        is_in_place = all(0 < len(side) <= _LONGEST_NAME for side in (ours_here, theirs_here))
        yield _Own(
            [token for token, both in zip(ours_here, shared[a_start:a_end], strict=True) if is_in_place or not both],
            [token for token, both in zip(theirs_here, other[b_start:b_end], strict=True) if is_in_place or not both],
            b_start < _EDGE or b_end > len(b) - _EDGE,
            a[a_start - 1] if a_start else b"",
        )


def _kind_of(own: _Own, names: Set[bytes], *, is_misread: bool) -> Kind:
    a, b, is_edge, _ = own
    is_replaced = bool(a and b)
    values = [Counter(filter(_is_value, tokens)) for tokens in (a, b)]
    if is_replaced and _are_opposites(a, b):
        return Kind.NEGATION
    negations = [Counter(token for token in tokens if token in NEGATIONS) for tokens in (a, b)]
    says_more = all(values) or (len(a) != len(b) and negations[0].total() != negations[1].total())
    if is_replaced and (not are_unlike(a, b) if is_misread else not says_more and _is_respelled(a, b)):
        return Kind.OTHER
    longest = _LONGEST_NEGATION if b else _LONGEST_LEFT_OUT
    if negations[0] != negations[1] and own.longer <= longest and (is_replaced or not is_edge):
        return Kind.NEGATION
    if is_replaced:
        return _kind_of_replaced(own, values, names)
    return Kind.PASSAGE if len(b) >= _SHORTEST_PASSAGE and not is_edge else Kind.OTHER


def _are_opposites(a: Sequence[bytes], b: Sequence[bytes]) -> bool:
    """Whether one word gave way to the same one behind a prefix that denies it, as in unhurt, never and kein."""
    if len(a) != 1 or len(b) != 1:
        return False
    short, long = sorted((*a, *b), key=len)
    return long.endswith(short) and (long.removesuffix(short) in _DENYING or (long in NEGATIONS and long != short))


def _is_respelled(a: Sequence[bytes], b: Sequence[bytes]) -> bool:
    ours, theirs = (b"".join(tokens).decode() for tokens in (a, b))
    if _HAN_NAME.fullmatch(ours):
        # With a wrong character a word is none of the dictionary, and falls into others.
        is_mistyped = len(a) != len(b) and Levenshtein.distance(ours, theirs, score_cutoff=1) <= 1
        return is_mistyped or sorted(ours) == sorted(theirs)
    most = min(_RESPELT, (max(len(ours), len(theirs)) - 1) // 2)
    return Levenshtein.distance(ours, theirs, score_cutoff=most) <= most


def _kind_of_replaced(own: _Own, values: Sequence[Counter[bytes]], names: Set[bytes]) -> Kind:
    both = *own.a, *own.b
    if own.longer <= _LONGEST_VALUE and values[0] != values[1]:
        if own.is_edge and all(any(map(_YEAR.fullmatch, tokens)) for tokens in (own.a, own.b)):
            return Kind.OTHER
        if all(values):
            return Kind.DATE if any(map(_is_date, both)) else Kind.NUMBER
        if any(token in FREE_WORDS for token in both):
            return Kind.PRICE
    return Kind.NUMBER if _is_swapped(own) or _is_unit(own) or _is_counted(own) else _kind_of_words(own, names)


def _kind_of_words(own: _Own, names: Set[bytes]) -> Kind:
    if own.longer > _LONGEST_NAME:
        return Kind.PASSAGE if len(own.b) >= _SHORTEST_PASSAGE and not own.is_edge else Kind.OTHER
    if any(token in names for token in own.a) or all(
        _HAN_NAME.fullmatch(b"".join(side).decode()) for side in (own.a, own.b)
    ):
        return Kind.NAME
    return Kind.WORDS if any(len(token) >= _SHORTEST_WORD for token in (*own.a, *own.b)) else Kind.OTHER


def _is_swapped(own: _Own) -> bool:
    """Whether two numbers have changed places, as in a score."""
    ours, theirs = ([token for token in tokens if is_number(token)] for tokens in (own.a, own.b))
    return len(ours) == 2 and ours[0] != ours[1] and ours == theirs[::-1]


def _is_unit(own: _Own) -> bool:
    """Whether the word behind a number gave way to another one, which may be its unit."""
    return len(own.a) == len(own.b) == 1 and is_number(own.before)


def _is_counted(own: _Own) -> bool:
    """Whether a number gave way to an article, as in two dozen, or took its place."""
    both = [*own.a, *own.b]
    return (
        len(own.a) == len(own.b) == 1
        and any(token in NUMBER_WORDS and token != b"one" for token in both)
        and any(len(token) < _SHORTEST_WORD and not _is_value(token) for token in both)
    )


def _is_date(token: bytes) -> bool:
    return token in DATE_WORDS or token.removesuffix(b"s") in DATE_WORDS


def _is_value(token: bytes) -> bool:
    return (
        is_number(token)
        or _is_date(token)
        or token in NUMBER_WORDS
        or _ROMAN.fullmatch(token) is not None
        or _HAN_NUMBER.fullmatch(token.decode()) is not None
    )
