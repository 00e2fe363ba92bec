"""Templates: where each document of a cluster has other words at one place, these are what it is about.

Ten chats under one system prompt, calls under one list of tools, forms and exams share most of their words, and each
holds a few words that no other one has. Two documents do not tell such words from a sentence that was edited: that
takes a cluster. So it is asked where whole clusters are at hand, and not in a crawl, which decides page by page.

Texts are their tokens, as `dedup.signature.signature.without_signs` returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dedup.rules.word_comparison import TokenChange, find_rewritten

Tokens = Sequence[bytes]
Place = tuple[int, int]
"""Where tokens of a leader begin, and end."""

FEWEST_DOCUMENTS = 3
"""So many documents at least, the leader included, have other words at a place."""

MOST_LOOKED_AT = 64
"""So many documents of a cluster say what a template is."""

# Of the copies of one story one has another headline, and most have that of the first.
_LARGEST_SHARE = 0.34
_FEWEST_WORDS = 5


class Aligned(NamedTuple):
    """A document of a cluster beside its leader.

    Attributes:
        tokens: its own.
        changes: what became of those of the leader.
    """

    tokens: Tokens
    changes: Sequence[TokenChange]

    @classmethod
    def of(cls, leader: Tokens, tokens: Tokens) -> Aligned:
        """Align a document with its leader, by the tokens of both."""
        return cls(tokens, [each for each in find_rewritten(leader, tokens) if _is_own(each)])


def find_places(leader: Tokens, others: Sequence[Aligned]) -> list[Place]:
    """Return the places of a leader at which the documents of its cluster have words of their own.

    At a place at least `FEWEST_DOCUMENTS` have other words, and no words are those of more than a third of all.

    Args:
        leader: the tokens of the leader.
        others: other documents of the cluster, few.
    """
    places: list[Place] = []
    for start, end in sorted((change.a_start, change.a_end) for other in others for change in other.changes):
        if places and start <= places[-1][1]:
            places[-1] = places[-1][0], max(places[-1][1], end)
        else:
            places.append((start, end))
    return [place for place in places if _is_of_template(place, leader, others)]


def words_at(places: Sequence[Place], leader: Tokens, other: Aligned) -> list[frozenset[bytes]]:
    """Return the words that a document has at places of its leader.

    Args:
        places: what `find_places` returned.
        leader: the tokens of the leader.
        other: the document.
    """
    return [_words_at(place, leader, other) for place in places]


def are_alike(ours: Sequence[frozenset[bytes]], theirs: Sequence[frozenset[bytes]]) -> bool:
    """Return whether two documents have about the same words at all places, as `words_at` returns them."""
    return all(map(_are_alike, ours, theirs))


def _is_of_template(place: Place, leader: Tokens, others: Sequence[Aligned]) -> bool:
    groups: list[tuple[frozenset[bytes], list[int]]] = []
    found = [_words_at(place, leader, each) for each in others]
    for number, words in enumerate([frozenset(leader[slice(*place)]), *found]):
        group = next((numbers for theirs, numbers in groups if _are_alike(words, theirs)), None)
        if group is None:
            groups.append((words, [number]))
        else:
            group.append(number)
    most = max(len(numbers) for _, numbers in groups)
    with_words = sum(bool(words) for words, _ in groups)
    return with_words >= FEWEST_DOCUMENTS and most <= max(1, _LARGEST_SHARE * (len(others) + 1))


def _words_at(place: Place, leader: Tokens, other: Aligned) -> frozenset[bytes]:
    start, end = place
    there = [each for each in other.changes if start <= each.a_end and each.a_start <= end]
    if not there:
        return frozenset(leader[start:end])
    return frozenset(token for each in there for token in other.tokens[each.b_start : each.b_end])


def _is_own(change: TokenChange) -> bool:
    return change.b_end - change.b_start >= _FEWEST_WORDS


def _are_alike(ours: frozenset[bytes], theirs: frozenset[bytes]) -> bool:
    return ours == theirs or 2 * len(ours & theirs) >= min(len(ours), len(theirs)) > 0
