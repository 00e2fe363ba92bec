"""Which differences of two texts say another thing, and so which near-duplicates are worth a person's look.

A number, a date, a price, a name or a negation that gave way says another thing, and so does a long passage that
only the dropped text has. What is respelled or has moved does not, nor does what a site writes on many pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from enum import StrEnum
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

from dedup.report.rejoining import rejoin
from dedup.report.values import are_same_values
from dedup.rules.numbers import is_number
from dedup.rules.shared_shingles import shared_tokens
from dedup.rules.word_comparison import TokenChange, are_unlike
from dedup.rules.word_lists import (
    AND_WORDS,
    CALLING_OFF,
    DATE_WORDS,
    DATING_WORDS,
    FREE_WORDS,
    FURTHER_NEGATIONS,
    NEGATIONS,
    NUMBER_WORDS,
    POSTS,
    SURNAMES,
)
from dedup.signature.normalise import normalise


class Kind(StrEnum):
    """What differs in one place, the most decisive kind first; a post is a part of a name."""

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
# Of what denies and is in one text alone: a longer clause says more, and denies nothing that both texts say.
_LONGEST_ADDED = 4
# Before and behind a place.
_CONTEXT = 6
# Bytes; shorter ones are articles and the like.
_SHORTEST_WORD = 4
# At its ends a page has dates, bylines and links that are no part of what it is about.
_EDGE = 8
# Tokens of the head of a text, and how many heads long the text is at least.
_HEAD, _HEADS = 24, 10
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
_ANY_HAN = regex.compile(r"\p{Han}")
_PERSON = rf"[{''.join(sorted(SURNAMES))}]\p{{Han}}{{1,2}}"
_AND_IN_HAN = r"(?:以及|[和与及跟])"
_PERSONS_MORE = regex.compile(rf"{_AND_IN_HAN}?(?:{_PERSON}){{1,3}}{_AND_IN_HAN}?")
_BEHIND_PERSON, _BEFORE_PERSON = regex.compile(rf"{_PERSON}$"), regex.compile(rf"{_AND_IN_HAN}?{_PERSON}")
_NEGATIONS = NEGATIONS | FURTHER_NEGATIONS
_POSTS_OR_NONE = POSTS | {b""}
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
        is_byline: whether its words stand at the head of a longer text and nowhere else in the stored one.
        before: a few tokens of the stored text before the place.
        behind: a few of them behind it.
        ours: the tokens of the stored text in the place, whether they are in such a shingle or not.
        theirs: those of the other.
    """

    a: list[bytes]
    b: list[bytes]
    is_edge: bool
    is_byline: bool = False
    before: Sequence[bytes] = ()
    behind: Sequence[bytes] = ()
    ours: Sequence[bytes] = ()
    theirs: Sequence[bytes] = ()

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
    misspelt = sum(map(_is_misspelt, own))
    differing = sum(bool(each.a or each.b) for each in own)
    is_misread = misspelt >= _FEWEST_MISSPELT and 2 * misspelt >= differing
    replaced = [each for each in own if each.a and each.b]
    swapped = Counter((*each.a, b"", *each.b) for each in replaced)
    names = {*names, *(token for each in replaced if swapped[*each.a, b"", *each.b] > 1 for token in each.a)}
    kinds = [_kind_of(each, names, is_misread=is_misread) for each in own]
    if differing > _FEW_PLACES:
        return [Kind.OTHER if kind is Kind.WORDS else kind for kind in kinds]
    return kinds


def _own_tokens(a: Sequence[bytes], b: Sequence[bytes], changes: Sequence[TokenChange]) -> Iterator[_Own]:
    ours, theirs = b"\n".join(a), b"\n".join(b)
    shared, other = shared_tokens(ours, theirs), shared_tokens(theirs, ours)
    for change in changes:
        a_start, a_end, b_start, b_end = change
        if are_same_values(a, b, change):
            yield _Own([], [], is_edge=False)
            continue
        ours_here, theirs_here = a[a_start:a_end], b[b_start:b_end]
        # A word that gave way in its place did so wherever else it stands; of longer stretches some has only moved.
        is_in_place = all(0 < len(side) <= _LONGEST_NAME for side in (ours_here, theirs_here))
        yield _Own(
            [token for token, both in zip(ours_here, shared[a_start:a_end], strict=True) if is_in_place or not both],
            [token for token, both in zip(theirs_here, other[b_start:b_end], strict=True) if is_in_place or not both],
            b_start < _EDGE or b_end > len(b) - _EDGE,
            # Whom a story is about it names again.
            b_start < min(_HEAD, len(b) // _HEADS)
            and all(a.count(token) == 1 for token in ours_here if len(token) >= _SHORTEST_WORD),
            a[max(a_start - _CONTEXT, 0) : a_start],
            a[a_end : a_end + _CONTEXT],
            ours_here,
            theirs_here,
        )


def _is_misspelt(own: _Own) -> bool:
    """Whether one word gave way to one of nearly the same characters, or a single character came, went or changed."""
    a, b = own.a, own.b
    if all(any(map(_is_value, side)) for side in (a, b)) or any(token in _NEGATIONS for token in (*a, *b)):
        return False
    if a and b and not are_unlike(a, b):
        return True
    return max(len(b"".join(side).decode()) for side in (a, b)) == 1


def _kind_of(own: _Own, names: Set[bytes], *, is_misread: bool) -> Kind:
    cores = _han_cores(own)
    if _is_opposite(own, cores):
        return Kind.NEGATION
    is_replaced = bool(own.a and own.b)
    is_misspelt = is_misread and (_is_misspelt(own) or (is_replaced and not are_unlike(own.a, own.b)))
    if not is_misspelt and (_is_other_post(own, cores) or _is_person_more(own, cores, names)):
        return Kind.NAME
    values = [Counter(filter(_is_value, tokens)) for tokens in (own.a, own.b)]
    negations = [_count_negations(own.before, tokens) for tokens in (own.a, own.b)]
    says_more = all(values) or (negations[0].total() != negations[1].total() and not _is_mistyped(own.a, own.b))
    if is_misspelt or (is_replaced and not is_misread and not says_more and _is_respelled(own.a, own.b)):
        return Kind.OTHER
    if negations[0] != negations[1] and (is_replaced or not own.is_edge) and own.longer <= _longest_negation(own):
        return Kind.NEGATION
    if is_replaced:
        return _kind_of_replaced(own, values, names)
    return Kind.PASSAGE if len(own.b) >= _SHORTEST_PASSAGE and not own.is_edge else Kind.OTHER


def _count_negations(before: Sequence[bytes], tokens: Sequence[bytes]) -> Counter[bytes]:
    """Count what denies; a letter t does behind an n, as in isn't."""
    found = Counter(token for token in tokens if token in _NEGATIONS)
    previous = (*before[-1:], *tokens)
    if b"t" in found and not any(a.endswith(b"n") and b == b"t" for a, b in pairwise(previous)):
        del found[b"t"]
    return found


def _longest_negation(own: _Own) -> int:
    is_called_off = any(token in CALLING_OFF for token in own.b)
    return _LONGEST_NEGATION if (own.a and own.b) or is_called_off else _LONGEST_ADDED


class _Cores(NamedTuple):
    """A Chinese place by its characters: those before it, those that differ in either text, and those behind it.

    A word that is added may become one with the word beside it, and a character changes both pairs that it is in.
    """

    before: str
    a: str
    b: str
    behind: str


def _han_cores(own: _Own) -> _Cores | None:
    """Return the characters of a short place; None: it has no Chinese ones."""
    if not own.longer or max(len(own.ours), len(own.theirs)) > _LONGEST_NEGATION:
        return None
    if not any(_ANY_HAN.search(token.decode()) for token in (*own.a, *own.b)):
        return None
    a, b = (rejoin(b"\n".join([*own.before, *side, *own.behind])).text for side in (own.ours, own.theirs))
    shorter = min(len(a), len(b))
    first = next((at for at in range(shorter) if a[at] != b[at]), shorter)
    last = next((at for at in range(shorter - first) if a[-1 - at] != b[-1 - at]), shorter - first)
    parts = a[:first], a[first : len(a) - last], b[first : len(b) - last], a[len(a) - last :]
    return _Cores(*(part.strip() for part in parts))


def _is_opposite(own: _Own, cores: _Cores | None) -> bool:
    """Whether one of two texts denies what the other says with the same word."""
    if cores is not None and not (own.is_edge and not (own.a and own.b)):
        denying = [core for core in (cores.a, cores.b) if core.encode() in _NEGATIONS]
        if len(denying) == 1:
            return True
    return bool(own.a and own.b) and _are_opposites(own.a, own.b)


def _is_other_post(own: _Own, cores: _Cores | None) -> bool:
    """Whether somebody has another post in one of the texts: is a deputy, acts, or was in office before."""
    if cores is not None:
        return cores.a.encode() in _POSTS_OR_NONE and cores.b.encode() in _POSTS_OR_NONE
    posts, others = (Counter(token for token in side if token in POSTS) for side in (own.a, own.b))
    return own.longer <= _LONGEST_NAME and posts != others


def _is_person_more(own: _Own, cores: _Cores | None, names: Set[bytes]) -> bool:
    """Whether one of the texts names a person more, beside one whom both name."""
    if cores is None:
        return _is_one_more_listed(own, names)
    is_beside = _BEHIND_PERSON.search(cores.before) or _BEFORE_PERSON.match(cores.behind)
    is_more = _PERSONS_MORE.fullmatch(cores.a or cores.b) is not None
    return is_more and not (cores.a and cores.b) and is_beside is not None


def _is_one_more_listed(own: _Own, names: Set[bytes]) -> bool:
    """Whether an "and", or what stands before one, adds a name of at most three words to one of two or more.

    The names that only the other text has are not known; its words have no capitals.
    """
    fewer, more = sorted((own.ours, own.theirs), key=len)
    if not len(fewer) < len(more) <= _LONGEST_NEGATION:
        return False
    added = [token for token in more if token not in fewer]
    at = next((at for at, token in enumerate(more) if token in AND_WORDS and token in added), None)
    if at is not None:
        known, listed = [*own.before, *more[:at]], more[at + 1 :]
    elif any(token in AND_WORDS for token in own.behind[:1]):
        known, listed = [*own.before], more
    else:
        return False
    is_known = more is own.theirs or any(token in names for token in listed)
    is_beside = len(known) > 1 and known[-1] in names and known[-1] not in added and known[-2] in names | {*added}
    return is_known and is_beside and 0 < len(listed) < _LONGEST_NAME


def _are_opposites(a: Sequence[bytes], b: Sequence[bytes]) -> bool:
    """Whether one word gave way to the same one behind a prefix that denies it, as in unhurt, never and kein."""
    if len(a) != 1 or len(b) != 1:
        return False
    short, long = sorted((*a, *b), key=len)
    return long.endswith(short) and (long.removesuffix(short) in _DENYING or (long in _NEGATIONS and long != short))


def _is_mistyped(a: Sequence[bytes], b: Sequence[bytes]) -> bool:
    """Whether a letter of a word came or went, changed places or became a digit; one for another makes now of not."""
    ours, theirs = (b"".join(tokens) for tokens in (a, b))
    is_same_size = len(ours) == len(theirs) and ours.isalpha() == theirs.isalpha()
    return len(a) == len(b) and not (is_same_size and sorted(ours) != sorted(theirs))


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
        if _dates_text(own):
            return Kind.OTHER
        if all(values):
            return Kind.DATE if any(map(_is_date, both)) else Kind.NUMBER
        if any(token in FREE_WORDS for token in both):
            return Kind.PRICE
    return Kind.NUMBER if _is_swapped(own) or _is_unit(own) or _is_counted(own) else _kind_of_words(own, names)


def _kind_of_words(own: _Own, names: Set[bytes]) -> Kind:
    if own.longer > _LONGEST_NAME:
        return Kind.PASSAGE if len(own.b) >= _SHORTEST_PASSAGE and not own.is_edge else Kind.OTHER
    if any(token in names for token in own.a):
        return Kind.OTHER if own.is_byline else Kind.NAME
    if all(_HAN_NAME.fullmatch(b"".join(side).decode()) for side in (own.a, own.b)):
        return Kind.NAME
    has_word = any(len(token) >= _SHORTEST_WORD for token in (*own.a, *own.b))
    return Kind.WORDS if has_word and not _is_within(own.a, own.b) else Kind.OTHER


def _dates_text(own: _Own) -> bool:
    """Whether a date gave way that says when the text was written or changed, as in "last updated"."""
    dated = *own.before, *own.a, *own.b, *own.behind
    return (
        all(any(token in DATING_WORDS for token in (*own.before, *side)) for side in (own.a, own.b))
        and any(_is_date(token) or _YEAR.fullmatch(token) for token in dated)
        and all(_is_value(token) or token in DATING_WORDS or len(token) < _SHORTEST_WORD for token in (*own.a, *own.b))
    )


def _is_within(a: Sequence[bytes], b: Sequence[bytes]) -> bool:
    """Whether one of two stretches has all that the other says, be it written together or run into the next word."""
    short, long = sorted((a, b), key=lambda tokens: len(b"".join(tokens)))
    whole = b"".join(short)
    is_run_in = len(long) > 1 and b"".join(long).startswith(whole)
    return is_run_in or any(b"".join(long[start:end]) == whole for start, end in combinations(range(len(long) + 1), 2))


def _is_swapped(own: _Own) -> bool:
    """Whether two numbers have changed places, as in a score."""
    ours, theirs = ([token for token in tokens if is_number(token)] for tokens in (own.a, own.b))
    return len(ours) == 2 and ours[0] != ours[1] and ours == theirs[::-1]


def _is_unit(own: _Own) -> bool:
    """Whether the word behind a number gave way to another one, which may be its unit."""
    return len(own.a) == len(own.b) == 1 and any(map(is_number, own.before[-1:]))


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


# Words come again and again.
@lru_cache(maxsize=4096)
def _is_value(token: bytes) -> bool:
    return (
        is_number(token)
        or _is_date(token)
        or token in NUMBER_WORDS
        or _ROMAN.fullmatch(token) is not None
        or _HAN_NUMBER.fullmatch(token.decode()) is not None
    )
