"""The difference of two texts, for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedup.console import ADDED, REMOVED, joined, plain, shortened, styled
from dedup.report.rejoining import Written
from dedup.report.triage import Kind, is_price, kinds_of
from dedup.rules.numbers import is_number
from dedup.rules.word_comparison import TokenChange, find_changes
from dedup.signature.markup import without_markup
from dedup.signature.normalise import fold, simplified
from dedup.signature.schemes import Scheme
from dedup.signature.signing import tokenise
from dedup.signature.tokens import Tokens

if TYPE_CHECKING:
    from rich.text import Text

MOST_PLACES = 20
"""How many places of a difference are told in full."""

# Of two texts: comparing so many takes half a second and 125 MB.
_MOST_PAIRS_OF_TOKENS = 1_000_000_000
_CONTEXT = 4
# Columns.
_COUNT = 6
_WITHIN_NUMBERS = frozenset(".,:/-–")
# One word that stayed between two that were changed is read as one change more easily.
_FEWEST_BETWEEN = 2


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
        kind: what differs.
    """

    at: int
    before: str
    removed: str
    added: str
    after: str
    tokens_removed: int
    tokens_added: int
    kind: Kind = Kind.OTHER


@dataclass(frozen=True, slots=True)
class WordDiff:
    """All that differs between the tokens of two texts.

    Attributes:
        place_count: in how many places they differ.
        tokens_removed: how many tokens of text A are not in text B, all places together.
        tokens_added: how many tokens of text B are not in text A.
        places: the most decisive of the places, in the order of text A.
        tokens: how many tokens the shorter text has.
        are_names_known: whether it is known which words of text A are names, so that one that gave way is told.
    """

    place_count: int
    tokens_removed: int
    tokens_added: int
    places: list[Place]
    tokens: int = 0
    are_names_known: bool = True

    @property
    def weight(self) -> float:
        """How much the places say of whether the texts say the same, for 100 tokens; 0: they do."""
        return 100 * sum(place.kind.weight for place in self.places) / max(1, self.tokens)


def order_of_place(place: Place) -> tuple[int, int]:
    """Return what places are sorted by so that the most decisive one comes first."""
    return place.kind.rank, -place.tokens_added


def place_text(place: Place, most: int | None = None) -> Text:
    """Write one place of a difference, such as `leaves at [-seven-] {+eight+} in the morning`.

    Args:
        place: the place.
        most: characters of a passage that are shown; None: all.
    """
    before, removed, added, after = (
        plain(text) if most is None else shortened(plain(text), most)
        for text in (place.before, place.removed, place.added, place.after)
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
    """Split a text into tokens as a scheme does; Chinese is shown in the characters in which it was written."""
    tokens, unmarked = tokenise(text, scheme), without_markup(text)
    if simplified(unmarked) == unmarked:
        return tokens
    written = fold(unmarked)
    # Few characters become several, or none, where others stand for them.
    return replace(tokens, written=written) if len(written) == len(tokens.text) else tokens


def are_too_long(a: int, b: int) -> bool:
    """Return whether two texts of so many tokens would take too long to be compared word by word."""
    return a * b > _MOST_PAIRS_OF_TOKENS


def diff_words(
    a: Tokens, b: Tokens, names: Set[bytes] | None = None, most_places: int | None = MOST_PLACES
) -> WordDiff:
    """Return where two texts differ.

    Args:
        a: the stored text.
        b: the other one; what stands between its words is taken from the first where it is not known.
        names: tokens of the first that are names; None: that is not known.
        most_places: how many places are told, the most decisive; None: all.
    """
    changes = merge_neighbours(find_changes(a.parts(), b.parts()))
    kinds = kinds_of(a.parts(), b.parts(), changes, names or frozenset())
    by_kind = sorted(
        range(len(changes)), key=lambda number: (kinds[number].rank, changes[number].b_start - changes[number].b_end)
    )
    a, b = a.as_written(), b.as_written()
    written = _punctuated_like(b, a, changes)
    return WordDiff(
        len(changes),
        sum(change.a_end - change.a_start for change in changes),
        sum(change.b_end - change.b_start for change in changes),
        [_place(a, written, changes, number, kinds[number]) for number in sorted(by_kind[:most_places])],
        min(len(a), len(b)),
        names is not None,
    )


def _gap(tokens: Tokens, number: int) -> str:
    """Return what stands between a token and the next one; nothing where they overlap."""
    return tokens.text[tokens.spans[number][1] : tokens.spans[number + 1][0]]


def _punctuated_like(b: Tokens, a: Tokens, changes: Sequence[TokenChange]) -> Tokens:
    """Return a text of which only the words are known with what stands between the same words of another one."""
    if any(_gap(b, number) != " " for number in range(len(b) - 1)):
        return b
    partners: dict[int, int] = {}
    a_from = b_from = 0
    for a_start, a_end, b_start, b_end in [*changes, TokenChange(len(a), len(a), len(b), len(b))]:
        partners.update(zip(range(b_from, b_start), range(a_from, a_start), strict=True))
        if a_end - a_start == b_end - b_start:
            partners.update(zip(range(b_start, b_end), range(a_start, a_end), strict=True))
        a_from, b_from = a_end, b_end
    text = Written()
    for number, token in enumerate(b.words()):
        before, own = partners.get(number - 1), partners.get(number)
        text.add(_gap(a, before) if before is not None and own == before + 1 else " " * (number > 0), token)
    return text.tokens()


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


def _place(a: Tokens, b: Tokens, changes: Sequence[TokenChange], number: int, kind: Kind) -> Place:
    before, after = 0, 0
    if kind.is_value:
        before, after = _digits_around(a, changes, number)
    first, behind = changes[number].a_start - before, changes[number].a_end + after
    place = Place(
        at=changes[number].a_start,
        before=_passage_before(a, max(0, first - _CONTEXT), first),
        removed=_changed_passage(a, first, behind),
        added=_changed_passage(b, changes[number].b_start - before, changes[number].b_end + after),
        after=_passage(a, behind, min(len(a), behind + _CONTEXT)),
        tokens_removed=behind - first,
        tokens_added=changes[number].b_end - changes[number].b_start + before + after,
        kind=kind,
    )
    texts = map(simplified, (place.before, place.removed, place.added, place.after))
    if kind is Kind.NUMBER and is_price(*texts):
        return replace(place, kind=Kind.PRICE)
    return place


def _digits_around(a: Tokens, changes: Sequence[TokenChange], number: int) -> tuple[int, int]:
    """Return how many tokens before and behind a change belong to the same number, as in 2.9 or 10:30."""
    first, behind = changes[number].a_start, changes[number].a_end
    least = changes[number - 1].a_end if number else 0
    most = changes[number + 1].a_start if number + 1 < len(changes) else len(a)
    parts = a.parts()

    def is_one(at: int) -> bool:
        return is_number(parts[at]) and is_number(parts[at + 1]) and _gap(a, at) in _WITHIN_NUMBERS

    while first > least and is_one(first - 1):
        first -= 1
    while behind < most and is_one(behind - 1):
        behind += 1
    return changes[number].a_start - first, behind - changes[number].a_end


def _passage(tokens: Tokens, start: int, end: int) -> str:
    """Return the text from a token to another one, with the punctuation between them."""
    return tokens.text[tokens.spans[start][0] : tokens.spans[end - 1][1]] if end > start else ""


def _passage_before(tokens: Tokens, start: int, end: int) -> str:
    """Return the text from a token to another one, with what stands before that, such as a sign of money."""
    if start == end:
        return ""
    last = tokens.spans[end][0] if end < len(tokens) else len(tokens.text)
    return tokens.text[tokens.spans[start][0] : max(last, tokens.spans[end - 1][1])].rstrip()


def _changed_passage(tokens: Tokens, start: int, end: int) -> str:
    """Return the text of tokens that changed, without what their neighbours share with them."""
    if start == end:
        return ""
    # Pairs of characters overlap, and a pair that stayed beside one that changed shows what stayed.
    first = max(tokens.spans[start][0], tokens.spans[start - 1][1] if start else 0)
    last = min(tokens.spans[end - 1][1], tokens.spans[end][0] if end < len(tokens) else len(tokens.text))
    # Of a character that was written twice both pairs may stay.
    return tokens.text[first:last] if first < last else _passage(tokens, start, end)
