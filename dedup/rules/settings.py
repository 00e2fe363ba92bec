"""The settings of deduplication, read once into a typed object.

Those of the items of a Scrapy project are `dedup.stage.item_settings.ItemSettings`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

from dedup.errors import SettingsError
from dedup.keys import RADIUS, Keys, TableDesign
from dedup.rules.declared import Settings, setting
from dedup.rules.documents import Verdict
from dedup.rules.scope import FOR_EVER, Memory, Scope
from dedup.rules.setting_values import number, parsed, to_bool, whole_number, word
from dedup.signature.dictionaries import NO_OTHER_DICTIONARY
from dedup.signature.schemes import find_scheme, with_dictionary
from dedup.signature.signature import BITS, SHINGLE_WORDS

_LOST_LIMIT = re.compile(r"([0-9]*\.[0-9]+) ([0-9]+)-([0-9]+)", re.ASCII)

_BY_OTHERS: Any = None

_OF_OTHERS = {"threshold": "min_jaccard", "similarity": "min_jaccard", "min_length": "min_tokens", "bit_diff": "radius"}


class Caution(StrEnum):
    """The amount of evidence that it takes to drop a document.

    CAREFUL drops what is hardly anything but a copy. BALANCED keeps another payload in the same frame. EAGER drops
    what shares most of its words with another document, and keeps only a form that was filled in anew.
    """

    CAREFUL = "careful"
    BALANCED = "balanced"
    EAGER = "eager"


class LostLimit(NamedTuple):
    """The longest stretch of tokens, found in no stored document, that a dropped one may have.

    In several stretches of at least 20 it may have twice as many.

    Attributes:
        share: a share of the tokens of its original,
        least: but so many at least,
        most: and so many at most.
    """

    share: float
    least: float
    most: float

    @classmethod
    def parse(cls, text: str) -> LostLimit:
        """Read what `str` writes: a number of tokens, `none` for any number, or `SHARE LEAST-MOST`.

        Raises:
            ValueError: it is none of these; the message is what they are.
        """
        if text == "none":
            return cls(0.0, math.inf, math.inf)
        if text.isdecimal():
            return cls(0.0, int(text), int(text))
        if found := _LOST_LIMIT.fullmatch(text):
            return cls(float(found[1]), int(found[2]), int(found[3]))
        raise ValueError("a number of tokens, 'none', or a share and two numbers as '0.2 20-50'")

    def __str__(self) -> str:
        if self.least == math.inf:
            return "none"
        return f"{self.share:g} {self.least}-{self.most}" if self.share else f"{self.least}"

    def halved(self) -> LostLimit:
        """Return the limit for what has another title: half as many tokens."""
        return LostLimit(self.share / 2, self.least / 2, self.most / 2)

    def of(self, tokens: int) -> float:
        """Return how many there may be where the original has so many."""
        return max(self.least, min(self.most, self.share * tokens))


class Limits(NamedTuple):
    """What makes two documents near-duplicates; of a caution, or of settings.

    Attributes:
        min_jaccard: a candidate is a match if the Jaccard similarity of its shingles reaches this,
        min_containment: or if its containment reaches this,
        min_length_ratio: and the shorter text has this share of the longer one's tokens.
        max_replaced: another thing if more short stretches of 100 tokens were replaced by unlike ones, noise not
            counted.
        max_rewritten: another thing if more than this share of the shorter text is in long stretches that were
            rewritten.
        max_added: another thing if words gave way, and more than this share of the shorter text stands in one alone.
        max_swapped: another thing if more of 100 tokens gave way to the same other ones throughout.
        min_numbers: another thing if numbers gave way, and the two texts share less than this of all their numbers.
        max_lost: see `LostLimit`.
    """

    min_jaccard: float
    min_containment: float
    min_length_ratio: float
    max_replaced: float
    max_rewritten: float
    max_added: float
    max_swapped: float
    min_numbers: float
    max_lost: LostLimit


LIMITS = {
    Caution.CAREFUL: Limits(0.7, 0.95, 0.75, 1.0, 0.1, 0.3, 0.3, 0.3, LostLimit(0.15, 20, 50)),
    Caution.BALANCED: Limits(0.55, 0.9, 0.6, 1.25, 0.1, 0.3, 0.4, 0.3, LostLimit(0.2, 20, 50)),
    Caution.EAGER: Limits(0.55, 0.9, 0.45, 1.5, 0.15, math.inf, math.inf, 0.0, LostLimit(0.25, 25, 100)),
}
"""What each caution asks for; measured in docs/results.md."""


class Mode(StrEnum):
    """The way a match is decided.

    CHECKED finds candidates by tables and bands, and has their words checked. PAPER is the rule of Manku, Jain
    and Das Sarma, WWW 2007: fingerprints within a radius, there 3 bits, are those of near-duplicates, without a check.
    """

    CHECKED = "checked"
    PAPER = "paper"


def _scheme(value: Any) -> str:
    name = str(value)
    find_scheme(name)
    return name


@dataclass(frozen=True)
class RuleSettings(Settings):
    """The rules by which documents are decided; an index is stored with those that it was made with.

    On a command line each is `--set NAME=VALUE`.
    """

    # Of texts with fewer tokens words and pairs of words are compared, not shingles of three, and must be shared to
    # this extent; in the paper's mode they are compared exactly.
    short_tokens: ClassVar = 64
    short_jaccard: ClassVar = 0.7
    # A match found by another member must reach one of these with the leader of the cluster.
    leader_jaccard: ClassVar = 0.4
    leader_containment: ClassVar = 0.7
    # Of texts with more tokens only how much they share is compared, not how they differ.
    max_compared: ClassVar = 20_000

    scheme: str = setting(
        "words", _scheme, "how signatures are made: `words`, or `pairs` for Chinese without a dictionary."
    )
    dictionary: str = setting(
        "",
        str,
        "Chinese words: a file to add to jieba's dictionary, as for `jieba.load_userdict`; `only:FILE` to replace it; "
        "`none`: jieba's alone; empty: jieba's plus anything already loaded in this process.",
    )
    mode: Mode = setting(Mode.CHECKED, word(Mode), "`checked` or `paper`.")
    radius: int = setting(
        RADIUS,
        whole_number(0, BITS // 2, "bits"),
        "bits in which the fingerprints of near-duplicates may differ, in mode `paper`.",
    )
    tables: TableDesign = setting(
        _BY_OTHERS,
        parsed(TableDesign),
        'the table design "N choose R", with N - R at least the radius; longer prefixes suit more documents. Default: '
        '"5 choose 2", or what a larger radius needs.',
    )
    min_tokens: int = setting(20, whole_number(0), "texts with fewer tokens are compared exactly.")
    caution: Caution = setting(
        Caution.BALANCED,
        word(Caution),
        "`careful`, `balanced` or `eager`: a preset for the limits below; explicit values win.",
    )
    min_jaccard: float = setting(
        _BY_OTHERS,
        number(0, 1),
        "a candidate is a match if the Jaccard similarity of its shingles reaches this, or if one text nearly "
        "contains the other.",
    )
    max_lost: LostLimit = setting(
        _BY_OTHERS,
        parsed(LostLimit),
        "the longest stretch of tokens, found in no stored document, that may be lost with a near-duplicate: a number, "
        "`none` for any, or a share of the original with bounds, such as `0.2 20-50`.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, limit in _given_by(self.caution).items():
            if getattr(self, name) is _BY_OTHERS:
                object.__setattr__(self, name, limit)
        object.__setattr__(self, "scheme", with_dictionary(self.scheme, self.dictionary))
        # From here on the scheme names the words; a copy of these settings reads no file again.
        object.__setattr__(self, "dictionary", NO_OTHER_DICTIONARY if self.dictionary else "")
        if self.mode is Mode.PAPER and self.min_jaccard != LIMITS[self.caution].min_jaccard:
            raise SettingsError(
                f"DEDUP_MIN_JACCARD = {self.min_jaccard}: DEDUP_MODE = 'paper' compares fingerprints alone, by "
                "DEDUP_RADIUS; leave one of the two out"
            )
        self._find_tables()

    def _find_tables(self) -> None:
        if self.mode is Mode.CHECKED and self.radius != RADIUS:
            raise SettingsError(
                f"DEDUP_RADIUS = {self.radius}: words decide; only DEDUP_MODE = 'paper' has another one"
            )
        designs = TableDesign.finding(max(self.radius, RADIUS))
        if self.tables is _BY_OTHERS:
            object.__setattr__(self, "tables", designs[:2][-1])
        elif self.tables.radius < designs[0].radius:
            raise SettingsError(
                f"DEDUP_TABLES = '{self.tables}': finds all within {self.tables.radius} bits, not within "
                f"{designs[0].radius}; take {' or '.join(map(str, designs))}"
            )

    @property
    def fewest_tokens(self) -> int:
        """How many tokens a text must have to be compared in any other way than exactly."""
        # Without a check, a fingerprint of few words is no proof of anything; without a pair of words all have the
        # same fingerprint, and without a shingle all share their bands.
        if self.mode is Mode.PAPER:
            return max(self.short_tokens, 2)
        return max(self.min_tokens, SHINGLE_WORDS)

    @property
    def keys(self) -> Keys:
        """What makes the keys by which candidates are found."""
        return Keys(self.tables, with_bands=self.mode is not Mode.PAPER)

    @cached_property
    def limits(self) -> Limits:
        """The limits of the caution, with those that are settings themselves; numbers for compiled code."""
        lost = LostLimit(*map(float, self.max_lost))
        return LIMITS[self.caution]._replace(min_jaccard=float(self.min_jaccard), max_lost=lost)


@dataclass(frozen=True)
class DedupSettings(RuleSettings):
    """The rules, and what a crawl needs besides: a database, runs, scopes, limits.

    Each stands in a Scrapy project as `DEDUP_` and its name in capitals.
    """

    # Seconds to wait for another writer of the database.
    lock_timeout: ClassVar = 60.0
    # The most documents that are decided in one transaction.
    batch_size: ClassVar = 50
    # A cluster of more duplicates may be a trap, or a mistake, and is told of; so is a host of which a larger share of
    # so many documents are duplicates.
    max_cluster: ClassVar = 1000
    max_drop_share: ClassVar = 0.9
    fewest_of_host: ClassVar = 200

    @classmethod
    def are_mostly_duplicates(cls, documents: int, duplicates: int) -> bool:
        """Return whether so many of a host's documents are duplicates that it may be a trap, or a mistake."""
        return documents >= cls.fewest_of_host and duplicates > cls.max_drop_share * documents

    def drops(self, verdict: Verdict) -> bool:
        """Return whether what has a verdict is dropped as a duplicate, and not only marked."""
        return verdict.is_duplicate and not self.mark_only

    enabled: bool = setting(True, to_bool, "whether the stage does anything.")
    database_url: str = setting("sqlite:///dedup.db", str, "the database: an SQLite file or a PostgreSQL server.")
    outage_timeout: float = setting(
        300.0,
        number(0, 86_400, "seconds"),
        "seconds to wait for a PostgreSQL server that is away.",
    )
    run: str = setting("", str, "the name of the run; empty: the time of its start.")
    scope: Scope = setting(
        Scope.ALL,
        word(Scope),
        "where duplicates are looked for: `all`, the same `host`, registrable `domain` or `spider`.",
    )
    memory: Memory = setting(
        FOR_EVER,
        parsed(Memory),
        "what a new document is compared with: `for ever`: all; `run`: its own run; a time such as `30d` (s, m, h, d, "
        "w): what was seen within that time before the run.",
    )
    mark_only: bool = setting(False, to_bool, "whether duplicates are only marked, and not dropped.")
    report: str = setting(
        "", str, "the file for a report at the end of the run: `.html`, `.json`, `.csv` or `.txt`; empty: none."
    )


S = TypeVar("S", bound=RuleSettings)


def with_changes(settings: S, **changes: Any) -> S:
    """Return settings with some of them changed; with another caution come its limits.

    Those that are given stay: in the changes, or before, which is told by their being other than the caution's.
    """
    limits = _given_by(settings.caution) if "caution" in changes else {}
    following = {name: _BY_OTHERS for name, limit in limits.items() if getattr(settings, name) == limit}
    return replace(settings, **(following | changes))


def meant_by(name: str, names: Collection[str]) -> str:
    """Return which of the names of settings is meant by one that is none; empty where it resembles none."""
    close = get_close_matches(name, (*names, *_OF_OTHERS), 1)
    return _OF_OTHERS.get(close[0], close[0]) if close else ""


def unknown_rule(name: str, names: Collection[str]) -> str:
    """Return what is said of a rule or setting that is none of these names: which is meant, and all of them."""
    meant = f"did you mean {found}? All: " if (found := meant_by(name, names)) else "there are "
    return f"unknown rule {name!r}; {meant}{', '.join(names)}"


def _given_by(caution: Caution) -> dict[str, Any]:
    """Return the limits of a caution that are settings, too."""
    limits = LIMITS[caution]._asdict()
    return {name: limits[name] for name in RuleSettings.names() if name in limits}
