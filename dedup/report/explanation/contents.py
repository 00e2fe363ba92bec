"""What an explanation holds, whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.report.explanation.sides import Origin
from dedup.report.explanation.stored import Record
from dedup.report.explanation.words import WordDiff
from dedup.rules.decision import Verdict
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import Scheme
from dedup.signature.sketch import Similarity


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """One side.

    Attributes:
        name: a file, a key, a text.
        origin: where its text is from.
        tokens: how many tokens it has.
        shingles: how many distinct shingles of three tokens it has.
        fingerprint: 64 bits, unsigned.
    """

    name: str
    origin: Origin
    tokens: int
    shingles: int
    fingerprint: int


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that two documents share, by which one is found for the other.

    Attributes:
        tables: the numbers of the permuted tables in which their prefixes are the same.
        bands: the numbers of the bands that are the same; None where they are not known.
    """

    tables: list[int]
    bands: list[int] | None


@dataclass(frozen=True, slots=True)
class Exact:
    """How alike two texts are by all their words.

    Attributes:
        jaccard: the share of the shingles of both that both have, 0 to 1.
        containment: the share of the smaller one's shingles that the other has, 0 to 1.
        length_ratio: tokens of the shorter text by tokens of the longer one, 0 to 1.
        shared: how many shingles both have.
    """

    jaccard: float
    containment: float
    length_ratio: float
    shared: int


@dataclass(frozen=True, slots=True)
class WordComparison:
    """How two texts differ, word by word.

    Attributes:
        replaced, rewritten, added, swapped, numbers_gone, numbers_shared, is_noise: see
            `dedup.rules.word_comparison.WordDifference`.
        is_renamed_sibling: whether they are at sibling addresses, and have another name.
        short_similarity: Jaccard similarity of the words and pairs of words; None where neither text is short.
        has_other_numbers: whether the numbers of two short texts are not the same.
    """

    replaced: float
    rewritten: float
    added: float
    swapped: float
    numbers_gone: float
    numbers_shared: float
    is_noise: bool
    is_renamed_sibling: bool
    short_similarity: float | None
    has_other_numbers: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """A limit of the rule that two documents miss.

    Attributes:
        setting: the setting that holds it, such as `max_replaced`.
        value: what they have.
        needed: what they would have to reach, or to stay within.
        text: both in words, with the setting's name.
    """

    setting: str
    value: float
    needed: float
    text: str


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """The member of a cluster by which a page was found, where it is not the leader, and how alike they are."""

    name: str
    distance: int
    keys: Keys
    exact: Exact | None
    words: WordComparison | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the second of two documents is a duplicate of the first, or is not.

    Attributes:
        a: the document that is known, or the original.
        b: the document that comes after it, or the page that was dropped or found similar.
        verdict: on the second.
        rule: what gave the verdict.
        missed: what keeps the second from being dropped: each limit that it misses; nothing where it is dropped.
        is_certain: whether the words of both are known, where it takes them to decide.
        distance: bits in which the fingerprints differ.
        differing_bits: these bits, 0 the least significant.
        keys: which keys they share.
        estimated: how alike they are, by their sketches.
        exact: how alike they are; None where the words of one are not known.
        words: how they differ; None where the words of one are not known, or the texts too long for the rule.
        diff: what differs; None where the words of one are not known, or the texts too long.
        record: the verdict that the database has, if that is explained.
        member: the member by which it was found, if that was not the original.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
        scheme: how the signatures are made.
    """

    a: ExplainedDocument
    b: ExplainedDocument
    verdict: Verdict
    rule: str
    missed: list[Missed]
    is_certain: bool
    distance: int
    differing_bits: list[int]
    keys: Keys
    estimated: Similarity
    exact: Exact | None
    words: WordComparison | None
    diff: WordDiff | None
    record: Record | None
    member: ClusterMember | None
    notes: list[str]
    settings: RuleSettings
    scheme: Scheme
