"""Comparing two texts word by word.

Two kinds of documents share most of their shingles and are no copies. Another thing in the same frame, such as
a leaflet of another drug, the results of another county, or the yearly story of a ceremony: names, numbers and phrases
here and there have given way to unlike ones, the same name to the same other one throughout, where an edit adds,
removes or respells. And two stories in the same long frame, if extraction has left it in: one long passage has given
way to another one.

Texts are their tokens in UTF-8, a line feed between them, as `dedup.signature.signature.without_signs` returns them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from rapidfuzz.distance import Indel, LCSseq

from dedup.rules.numbers import are_same_numbers, count_numbers, find_numbers, have_same_numbers, is_number
from dedup.rules.settings import LostLimit
from dedup.rules.shared_shingles import hash_shingles, shared_tokens
from dedup.rules.word_lists import DATE_WORDS, LOOK_ALIKES, MONTHS, NEGATIONS, SAME_NEGATION, UNITS, WEEKDAYS
from dedup.signature.signature import SHINGLE_WORDS, without_signs

Token = TypeVar("Token", bound=Hashable)

# Without a shingle in common, longer passages share only words that all texts have.
_LONGEST_REFINED = 200

_STRETCH = 20
"""Tokens: a sentence. What is shorter was reworded."""

LONGEST_REPLACED = 24
"""Tokens of a stretch that may have been filled in; what is longer was rewritten."""

_LIKE = 0.5
_LONGEST_SWAPPED = 6
_EDGE = 8
# One word of a short text may be what it is about.
_FEWEST_OF_NOISE = 2
# Characters; a site that writes words of a million letters must not hold up a crawl.
_LONGEST_COMPARED = 200
# What turns a short text into another one by a word; in Chinese a negation is mostly the beginning of a word.
_SENSE = NEGATIONS | UNITS
_NEGATING = tuple(character.encode() for character in "不没未勿")


def shingles_of(tokens: Sequence[Token]) -> frozenset[tuple[Token, ...]]:
    """Return the distinct shingles of three tokens of a text."""
    return frozenset(zip(*(tokens[start:] for start in range(SHINGLE_WORDS)), strict=False))


def jaccard(a: Set[Hashable], b: Set[Hashable]) -> float:
    """Return the share of the elements of both sets that both have; 0 where both are empty."""
    return len(a & b) / len(a | b) if a or b else 0.0


class TokenChange(NamedTuple):
    """Tokens `start` to `end`, the latter not included, of text A that became those of text B."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int


def find_changes(a: Sequence[bytes], b: Sequence[bytes]) -> list[TokenChange]:
    """Find what has to be changed in one sequence of tokens to get another.

    Time and memory grow with the product of their lengths: two texts of 20,000 tokens that have
    nothing in common take a sixth of a second and 50 MB. Each may have 500,000 of them.

    Returns:
        The changes in the order of the texts; outside of them both have the same tokens.
    """
    return refine(a, b, find_rewritten(a, b))


def find_rewritten(a: Sequence[bytes], b: Sequence[bytes]) -> list[TokenChange]:
    """Find what lies between the shingles of three tokens that two sequences share.

    Of the shingles that both have, the most are taken that have the same order in both.

    Returns:
        The changes in the order of the texts, with the single words in them that both texts have.
    """
    return _between(a, b, TokenChange(0, len(a), 0, len(b)), SHINGLE_WORDS)


def refine(a: Sequence[bytes], b: Sequence[bytes], rewritten: Iterable[TokenChange]) -> list[TokenChange]:
    """Take single words that both texts have out of the changes that `find_rewritten` found."""
    changes: list[TokenChange] = []
    for change in rewritten:
        ours, theirs = change.a_end - change.a_start, change.b_end - change.b_start
        # Most changes are those of one token to another one.
        is_one = ours == theirs == 1 and a[change.a_start] != b[change.b_start]
        if is_one or min(ours, theirs) == 0 or max(ours, theirs) > _LONGEST_REFINED:
            changes.append(change)
        else:
            changes += _between(a, b, change, 1)
    return changes


def _between(a: Sequence[bytes], b: Sequence[bytes], inside: TokenChange, size: int) -> list[TokenChange]:
    """Return what lies between the shingles of so many tokens that two stretches share."""
    a_start, a_end, b_start, b_end = inside
    ours, theirs = a[a_start:a_end], b[b_start:b_end]
    blocks = LCSseq.opcodes(
        *((ours, theirs) if size == 1 else _shingle_characters(ours, theirs, size))
    ).as_matching_blocks()
    changes: list[TokenChange] = []
    a_from, b_from = a_start, b_start
    for block in blocks:
        if not block.size:
            continue
        at, other = a_start + block.a, b_start + block.b
        length = block.size + size - 1
        # Shingles overlap, and in one text two of them may share tokens that they do not share in the other.
        overlap = max(a_from - at, b_from - other, 0)
        if overlap >= length:
            continue
        if at + overlap > a_from or other + overlap > b_from:
            changes.append(TokenChange(a_from, at + overlap, b_from, other + overlap))
        a_from, b_from = at + length, other + length
    if a_from < a_end or b_from < b_end:
        changes.append(TokenChange(a_from, a_end, b_from, b_end))
    return changes


def _shingle_characters(a: Sequence[bytes], b: Sequence[bytes], size: int) -> tuple[str, str]:
    """Return a string for each sequence, with one character a shingle, the same for the same one: these align fast."""
    hashed = [hash_shingles(tokens, size) for tokens in (a, b)]
    numbers = np.unique(np.concatenate(hashed), return_inverse=True)[1]
    # There are more characters than shingles in texts that can be compared; some of them stand for half of another one.
    characters = numbers.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return characters[: len(hashed[0])], characters[len(hashed[0]) :]


class LostText(NamedTuple):
    """The text of a document that no stored one has.

    Attributes:
        words: how many of its tokens are in no shingle of three that a stored text has.
        bytes: the size of these tokens in UTF-8.
        is_long: whether more of them follow each other than may be lost, or twice as many are in several stretches
            of at least 20, so that the document is passed on.
        places: in how many stretches each of the two, the text and the first stored one, says what the other does
            not; of the two numbers the lower one, so that what was only added or left out does not count.
    """

    words: int = 0
    bytes: int = 0
    is_long: bool = False
    places: int = 0


NOTHING_LOST = LostText()


def find_lost(text: bytes, stored: Iterable[bytes], limit: LostLimit) -> LostText:
    """Return what a text says that no stored one does.

    Args:
        text: the words of the text, as `dedup.signature.signature.Signature` has them.
        stored: those of stored texts, the original first; no more are read than it takes to find that nothing
            long is lost.
        limit: how long a stretch may be.
    """
    is_shared, most, is_long, places = b"", 0.0, False, 0
    text = without_signs(text)
    for number, other in enumerate(map(without_signs, stored)):
        shared = shared_tokens(text, other)
        is_shared = bytes(map(max, is_shared, shared)) if number else shared
        stretches = list(map(len, is_shared.split(b"\1")))
        if not number:
            most = limit.of(other.count(b"\n") + 1)
            theirs = shared_tokens(other, text).split(b"\1")
            places = min(sum(map(bool, stretches)), sum(map(bool, theirs)))
        in_sentences = sum(length for length in stretches if length >= _STRETCH)
        is_long = max(stretches) > most or in_sentences > 2 * most
        if not is_long:
            break
    own = [token for token, is_there in zip(text.split(b"\n"), is_shared, strict=False) if not is_there]
    return LostText(len(own), sum(map(len, own)), is_long, places)


class WordDifference:
    """The measures by which two texts differ.

    Args:
        a: the tokens of one text.
        b: those of the other; the order of the two makes no difference.

    Attributes:
        tokens: those of the shorter text.
        replaced: how many stretches of at most 24 tokens on both sides, that have less than half of
            their characters in common, in their order, there are for 100 tokens of the shorter text.
        rewritten: what share of the shorter text's tokens is in longer stretches that have given
            way to others with no shingle in common, 0 to 1.
        added: how much is in the middle of one text and not in the other, where words have given way there, too: a
            share of the shorter text, which may be more than 1; 0 where nothing gave way.
        swapped: how many stretches of at most 6 tokens, numbers and dates left out, gave way to the same other one at
            least twice, for 100 tokens: the name of another thing.
        replaced_numbers: the numbers of each text, in one form, that gave way to others, and how often.
        numbers_gone: how many numbers, for 100 tokens, gave way to others.
        has_other_name: whether a stretch was replaced in which both texts have a word that is no number and no date.
    """

    def __init__(self, a: bytes, b: bytes) -> None:
        self._ours, self._theirs = sorted((a.split(b"\n"), b.split(b"\n")))
        self.tokens = min(len(self._ours), len(self._theirs))
        self._per_cent = 100 / self.tokens
        gaps = find_rewritten(self._ours, self._theirs)
        changes = refine(self._ours, self._theirs, gaps)
        both_sided = [change for change in changes if _size(change)]
        replaced = [change for change in both_sided if _is_replaced(self._ours, self._theirs, change)]
        self.replaced = len(replaced) * self._per_cent
        self._is_replaced_often = len(replaced) >= _FEWEST_OF_NOISE
        self.has_other_name = any(_has_names(self._ours, self._theirs, change) for change in replaced)
        self.rewritten = sum(size for size in map(_size, gaps) if size > LONGEST_REPLACED) * self._per_cent / 100
        self.added = _count_added(self._ours, self._theirs, changes) * self._per_cent / 100
        # What is the same in both says nothing, and is most of them.
        self._gone = Counter(word for change in changes for word in self._ours[change.a_start : change.a_end])
        self._come = Counter(word for change in changes for word in self._theirs[change.b_start : change.b_end])
        self.swapped = self._count_swapped(both_sided) * self._per_cent
        gone = count_numbers(self._ours, [(change.a_start, change.a_end) for change in changes])
        come = count_numbers(self._theirs, [(change.b_start, change.b_end) for change in changes])
        self.replaced_numbers = gone - come, come - gone
        self.numbers_gone = min(each.total() for each in self.replaced_numbers) * self._per_cent

    @property
    def numbers_shared(self) -> float:
        """Which share of the numbers of both texts is in both, each as often as it is in either, 0 to 1.

        It is 1 where one of them has none.
        """
        ours, theirs = (count_numbers(tokens, [(0, len(tokens))]) for tokens in (self._ours, self._theirs))
        return (ours & theirs).total() / (ours | theirs).total() if ours and theirs else 1.0

    @property
    def has_own_words(self) -> bool:
        """Whether each of the texts repeats a word, numbers and dates left out, that the other never has."""
        return _has_repeated(self._gone, set(self._theirs)) and _has_repeated(self._come, set(self._ours))

    def _count_swapped(self, changes: list[TokenChange]) -> int:
        pairs = Counter(
            (tuple(self._ours[a_start:a_end]), tuple(self._theirs[b_start:b_end]))
            for a_start, a_end, b_start, b_end in changes
            if max(a_end - a_start, b_end - b_start) <= _LONGEST_SWAPPED
        )
        repeated = {pair: count for pair, count in pairs.items() if count > 1}
        if not repeated:
            return 0
        # What only moved is in both.
        fewer, more = self._gone - self._come, self._come - self._gone
        return sum(count for (gone, come), count in repeated.items() if _is_name(gone, fewer) and _is_name(come, more))

    @property
    def is_noise(self) -> bool:
        """Whether what was replaced is an edition's noise.

        It is that where it was replaced in more than one place, no number gave way, and not each text has a subject
        of its own.
        """
        return self._is_replaced_often and not self.numbers_gone and not self.has_own_words


def _count_added(ours: list[bytes], theirs: list[bytes], changes: list[TokenChange]) -> int:
    shorter = min(len(ours), len(theirs))
    is_ours = len(ours) == shorter
    spans = [(each.a_start, each.a_end) if is_ours else (each.b_start, each.b_end) for each in changes]
    # What is at the beginning or the end is a frame, or what was cut off.
    middle = [
        change for change, (start, end) in zip(changes, spans, strict=True) if start > _EDGE and end < shorter - _EDGE
    ]
    if not any(map(_size, middle)):
        return 0
    return sum(abs((each.a_end - each.a_start) - (each.b_end - each.b_start)) for each in middle)


def _is_name(words: tuple[bytes, ...], counts: Counter[bytes]) -> bool:
    return any(counts[word] > 1 and not _is_of_date(word) for word in words)


def _has_repeated(words: Counter[bytes], others: set[bytes]) -> bool:
    return any(count > 1 and word not in others and not _is_of_date(word) for word, count in words.items())


def _has_names(ours: list[bytes], theirs: list[bytes], change: TokenChange) -> bool:
    a_start, a_end, b_start, b_end = change
    return not (all(map(_is_of_date, ours[a_start:a_end])) or all(map(_is_of_date, theirs[b_start:b_end])))


def _is_of_date(word: bytes) -> bool:
    return word in DATE_WORDS or is_number(word)


def short_similarity(a: bytes, b: bytes) -> float:
    """Return the Jaccard similarity of the sets of tokens and pairs of tokens of two short texts.

    Shingles of three tokens are too few there: each changed word takes three of them.

    Returns:
        0 to 1.
    """
    ours, theirs = a.split(b"\n"), b.split(b"\n")
    shingles, others = ({(token,) for token in tokens} | set(pairwise(tokens)) for tokens in (ours, theirs))
    return jaccard(shingles, others)


def has_same_numbers(a: bytes, b: bytes) -> bool:
    """Return whether two short texts have the same numbers in the same order."""
    return have_same_numbers(a.split(b"\n"), b.split(b"\n"))


def has_same_sense(a: bytes, b: bytes) -> bool:
    """Return whether two short texts have the same negations and units, each as often, and no other day or month."""
    ours, theirs = a.split(b"\n"), b.split(b"\n")
    if _count_sense(ours) != _count_sense(theirs):
        return False
    return not any(_is_any_replaced(ours, theirs, names) for names in (WEEKDAYS, MONTHS, LOOK_ALIKES))


def _count_sense(tokens: Sequence[bytes]) -> Counter[bytes]:
    """Count what denies, and units; those of numbers are compared with them."""
    of_numbers = {place for number in find_numbers(tokens) for place in range(number.start, number.end)}
    return Counter(
        SAME_NEGATION.get(token, token)
        for place, token in enumerate(tokens)
        if place not in of_numbers and _is_of_sense(tokens, place)
    )


def _is_any_replaced(ours: Sequence[bytes], theirs: Sequence[bytes], names: Mapping[bytes, str]) -> bool:
    """Say whether each of two texts has one of these names that the other does not have."""
    one, other = ({names[token] for token in tokens if token in names} for tokens in (ours, theirs))
    # A copy may leave one out, or write a month in digits.
    return bool(one - other and other - one)


def _is_of_sense(tokens: Sequence[bytes], place: int) -> bool:
    token = tokens[place]
    if token == b"good":
        return place > 0 and tokens[place - 1] == b"for"
    return token in _SENSE or token.startswith(_NEGATING)


def _size(change: TokenChange) -> int:
    """Return how many tokens have given way to others."""
    return min(change.a_end - change.a_start, change.b_end - change.b_start)


def _is_replaced(ours: list[bytes], theirs: list[bytes], change: TokenChange) -> bool:
    a_start, a_end, b_start, b_end = change
    if max(a_end - a_start, b_end - b_start) > LONGEST_REPLACED:
        return False
    gone, come = ours[a_start:a_end], theirs[b_start:b_end]
    return are_unlike(gone, come) and not are_same_numbers(gone, come)


def are_unlike(ours: Sequence[bytes], theirs: Sequence[bytes]) -> bool:
    """Say whether some tokens were replaced by others, and not respelled."""
    # The share of the characters of both that is in their longest common subsequence.
    return Indel.normalized_similarity(_string(ours), _string(theirs)) < _LIKE


def _string(tokens: Sequence[bytes]) -> str:
    return b"".join(tokens).decode()[:_LONGEST_COMPARED]
