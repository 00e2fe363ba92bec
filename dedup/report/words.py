"""The difference of two texts, for people to read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dedup.console import ADDED, REMOVED, joined, plain, shortened, styled
from dedup.rules.word_comparison import TokenChange, find_changes
from dedup.signature.normalise import normalise
from dedup.signature.schemes import Scheme
from dedup.signature.signature import without_signs
from dedup.signature.signing import tokenise
from dedup.signature.tokens import HAN, KANA, KIND, UNSPACED, Tokens, character_classes

if TYPE_CHECKING:
    from rich.text import Text

_PAIR = 2


MOST_PLACES = 20
"""How many places of a difference are told in full."""

# Of two texts: comparing so many takes half a second and 125 MB.
_MOST_PAIRS_OF_TOKENS = 1_000_000_000
_CONTEXT = 4
# Tokens.
_SENTENCE = 10
# Columns, and characters.
_COUNT, _PASSAGE = 6, 300
# One word that stayed between two that were changed is read as one change more easily.
_FEWEST_BETWEEN = 2


def rejoin(words: bytes) -> Tokens:
    """Join the words of a text, at least one; return them as tokens that stand in the text that they give.

    Words of scripts that write spaces get one between them, Chinese words none, and pairs of characters overlap as
    they did in the text. What stood between is lost.
    """
    tokens = without_signs(words).decode().split("\n")
    kinds = [_kind(token) for token in tokens]
    overlapping = {UNSPACED, HAN} if _has_pairs(tokens, kinds) else {UNSPACED}
    data = bytearray()
    starts, ends = [], []
    for at, token in enumerate(tokens):
        written = token
        kind = kinds[at]
        is_same_script = at > 0 and kind == kinds[at - 1] and kind in (HAN, UNSPACED)
        if is_same_script and kind in overlapping and _overlap(tokens[at - 1], token):
            written = token[1:]
        elif at and not (is_same_script and kind not in overlapping):
            data += b" "
        data += written.encode()
        starts.append(len(data) - len(token.encode()))
        ends.append(len(data))
    return Tokens(bytes(data), np.array(starts, np.int32), np.array(ends, np.int32))


def _kind(token: str) -> int:
    kind = int(character_classes()[ord(token[0])]) & KIND
    # They stand in one run, and are cut alike.
    return HAN if kind == KANA else kind


def _has_pairs(tokens: list[str], kinds: list[int]) -> bool:
    """Return whether Han and kana are cut into overlapping pairs of characters, and not into words."""
    # Words overlap as rarely as a word begins with the last character of the one before it.
    neighbours = [_overlap(tokens[at], tokens[at + 1]) for at, both in enumerate(pairwise(kinds)) if both == (HAN, HAN)]
    return 2 * sum(neighbours) > len(neighbours)


def _overlap(before: str, after: str) -> bool:
    return len(before) == len(after) == _PAIR and before[1] == after[0]


@dataclass(frozen=True, slots=True)
class Place:
    """One place where two texts differ; the texts are normalised.

    Attributes:
        at: the number of the place's first token in text A, from 0.
        before: a few words of text A before it.
        removed: what only text A has there.
        added: what only text B has there.
        after: a few words of text A behind it.
        tokens_removed: how many tokens `removed` has.
        tokens_added: how many tokens `added` has.
    """

    at: int
    before: str
    removed: str
    added: str
    after: str
    tokens_removed: int
    tokens_added: int


@dataclass(frozen=True, slots=True)
class WordDiff:
    """All that differs between the tokens of two texts.

    Attributes:
        place_count: in how many places they differ.
        tokens_removed: how many tokens of text A are not in text B, all places together.
        tokens_added: how many tokens of text B are not in text A.
        places: the first of the places, at most `MOST_PLACES`, and the telling one.
        telling: the number, among these, of the place that says most of whether B may go: the longest sentence that B
            alone has, else another number, else the most words that B alone has, else the most that it has not.
    """

    place_count: int
    tokens_removed: int
    tokens_added: int
    places: list[Place]
    telling: int = 0


def place_text(place: Place) -> Text:
    """Write one place of a difference, such as `leaves at [-seven-] {+eight+} in the morning`."""
    before, removed, added, after = (
        shortened(plain(text), _PASSAGE) for text in (place.before, place.removed, place.added, place.after)
    )
    return joined(
        f"{before} " if before else "",
        styled(f"[-{removed}-] " if removed else "", REMOVED),
        styled(f"{{+{added}+}} " if added else "", ADDED),
        after,
    )


def place_line(place: Place) -> Text:
    """Write one place of a difference in a line that begins with how many tokens were removed and added."""
    counts = f"  {f'-{place.tokens_removed:,}':>{_COUNT}} {f'+{place.tokens_added:,}':<{_COUNT}} "
    return joined(counts, place_text(place))


def tokens_of(text: str, scheme: Scheme) -> Tokens:
    """Split a text into tokens as a scheme does."""
    return tokenise(normalise(text), scheme)


def are_too_long(a: int, b: int) -> bool:
    """Return whether two texts of so many tokens would take too long to be compared word by word."""
    return a * b > _MOST_PAIRS_OF_TOKENS


def diff_words(a: Tokens, b: Tokens) -> WordDiff:
    """Return where two texts differ."""
    changes = merge_neighbours(find_changes(a.parts(), b.parts()))
    shown = changes[:MOST_PLACES]
    telling = max(changes, key=lambda change: _telling(a, b, change), default=None)
    if telling is not None and telling not in shown:
        shown[-1] = telling
    return WordDiff(
        len(changes),
        sum(change.a_end - change.a_start for change in changes),
        sum(change.b_end - change.b_start for change in changes),
        [_place(a, b, change) for change in shown],
        0 if telling is None else shown.index(telling),
    )


def _telling(a: Tokens, b: Tokens, change: TokenChange) -> tuple[int, bool, int, int]:
    added = change.b_end - change.b_start
    passages = (
        _changed_passage(a, change.a_start, change.a_end),
        _changed_passage(b, change.b_start, added + change.b_start),
    )
    has_numbers = all(any(map(str.isdigit, text)) for text in passages)
    return added if added >= _SENTENCE else 0, has_numbers, added, change.a_end - change.a_start


def merge_neighbours(changes: Iterable[TokenChange]) -> list[TokenChange]:
    """Make one of changes with a single token between them."""
    merged: list[TokenChange] = []
    for change in changes:
        if merged and change.a_start - merged[-1].a_end < _FEWEST_BETWEEN:
            before = merged.pop()
            merged.append(TokenChange(before.a_start, change.a_end, before.b_start, change.b_end))
        else:
            merged.append(change)
    return merged


def _place(a: Tokens, b: Tokens, change: TokenChange) -> Place:
    first, behind = change.a_start, change.a_end
    return Place(
        at=first,
        before=_passage(a, max(0, first - _CONTEXT), first),
        removed=_changed_passage(a, first, behind),
        added=_changed_passage(b, change.b_start, change.b_end),
        after=_passage(a, behind, min(len(a), behind + _CONTEXT)),
        tokens_removed=behind - first,
        tokens_added=change.b_end - change.b_start,
    )


def _passage(tokens: Tokens, start: int, end: int) -> str:
    """Return the text from a token to another one, with the punctuation between them."""
    return tokens.data[tokens.starts[start] : tokens.ends[end - 1]].decode() if end > start else ""


def _changed_passage(tokens: Tokens, start: int, end: int) -> str:
    """Return the text of tokens that changed, without what their neighbours share with them."""
    if start == end:
        return ""
    # Pairs of characters overlap, and a pair that stayed beside one that changed shows what stayed.
    first = max(tokens.starts[start], tokens.ends[start - 1] if start else 0)
    last = min(tokens.ends[end - 1], tokens.starts[end] if end < len(tokens) else len(tokens.data))
    # Of a character that was written twice both pairs may stay.
    return tokens.data[first:last].decode() if first < last else _passage(tokens, start, end)
