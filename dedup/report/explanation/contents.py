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
class Feature:
    """A feature of a text, as the scheme makes them.

    Attributes:
        name: the feature in letters; bytes that are none are written as escapes.
        weight: its weight in this text: by the usual scheme how often the text has the token.
        weight_beside: its weight in the other text; None where that is not known.
        bits: how many of the differing bits it pushes to what they are on its side.
    """

    name: str
    weight: float
    weight_beside: float | None
    bits: int


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """One side.

    Attributes:
        name: a file, a key, a text.
        origin: where its text is from.
        tokens: how many tokens it has.
        shingles: how many distinct shingles of three tokens it has.
        fingerprint: as many bits as the scheme has, unsigned.
        margins: the margin of each bit, the least significant first, in the unit of the weights; None
            where they are not known.
        weak_bits: the bits that may be flipped when it is looked up: of each table's prefix those with
            the smallest margins. Of a width without tables, of each 16 bits. None where margins are not
            known.
        features: its heaviest, the heaviest first; None where they are not known.
    """

    name: str
    origin: Origin
    tokens: int
    shingles: int
    fingerprint: int
    margins: list[float] | None
    weak_bits: list[int] | None
    features: list[Feature] | None


@dataclass(frozen=True, slots=True)
class Exact:
    """How alike two texts are, by all their shingles: two shares from 0 to 1, and how many both have."""

    jaccard: float
    containment: float
    shared: int


@dataclass(frozen=True, slots=True)
class Probe:
    """Which look-up for the second fingerprint brings the first.

    Attributes:
        is_known: whether it can be told: unless table and distance settle it, the margins do.
        table: the number of the table, from 0; None where no probe brings it, or it is not known, or
            there are no tables for fingerprints of this width.
        flipped: how many bits of the table's prefix the probe flips.
    """

    is_known: bool
    table: int | None
    flipped: int | None


@dataclass(frozen=True, slots=True)
class WordComparison:
    """How alike two texts are word by word, as the check looks at it where the sketches leave a doubt.

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
    similarity: Similarity
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
        is_certain: whether the verdict does not depend on a probe that cannot be told.
        distance: bits in which the fingerprints differ.
        differing_bits: these bits, 0 the least significant.
        probe: which look-up brings the first.
        estimated: how alike they are, by their sketches.
        exact: how alike they are; None where the words of one are not known.
        words: how alike they are word by word; None where the words of one are not known to the check.
        diff: what differs; None where the words of one are not known.
        record: the verdict that the database has, if that is explained.
        member: the member by which it was found, if that was not the original.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
        scheme: how the signatures are made.
        radius: the largest distance of a candidate, in bits of this scheme.
    """

    a: ExplainedDocument
    b: ExplainedDocument
    verdict: Verdict
    rule: str
    missed: list[Missed]
    is_certain: bool
    distance: int
    differing_bits: list[int]
    probe: Probe
    estimated: Similarity
    exact: Exact | None
    words: WordComparison | None
    diff: WordDiff | None
    record: Record | None
    member: ClusterMember | None
    notes: list[str]
    settings: RuleSettings
    scheme: Scheme
    radius: int
