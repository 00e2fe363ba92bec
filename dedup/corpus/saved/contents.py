"""What an index says of itself: format, scheme, counts, bytes, crowded keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dedup.corpus.deciding.known import NOWHERE
from dedup.corpus.saved.folder import CHECKED, CHECKSUMS, FORMAT
from dedup.corpus.saved.reader import SavedIndex
from dedup.corpus.state.checkpoint import about_settings, differing_settings
from dedup.index.keys import MOST_READ
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import keys_of

_MOST_NAMED = 20


class CrowdedKey(NamedTuple):
    """A key of more documents than are read of it.

    Attributes:
        kind: `table` or `band`.
        number: which table or band, from 0.
        value: the key.
        documents: how many have it.
    """

    kind: str
    number: int
    value: int
    documents: int


@dataclass(frozen=True)
class Contents:
    """What an index consists of.

    Attributes:
        path: where it is.
        format: the version of the folder's format.
        scheme: name and version of the way the signatures were made.
        design: the table design.
        settings: the settings that are not the defaults; empty: all are.
        documents: how many there are, of different contents.
        leaders: how many of them are originals.
        duplicates: how many are duplicates of these.
        with_words: of how many the words are stored.
        indexed: how many can be found by their keys.
        most_read: how many documents are read of a key, the earliest.
        keys: how many different keys they have.
        crowded: how many of these more documents share than are read.
        most_crowded: the first of these, the largest first.
        files: the bytes of each file.
    """

    path: str
    format: int
    scheme: str
    design: str
    settings: str
    documents: int
    leaders: int
    duplicates: int
    with_words: int
    indexed: int
    most_read: int
    keys: int
    crowded: int
    most_crowded: tuple[CrowdedKey, ...]
    files: dict[str, int]


def read_contents(path: Path) -> Contents:
    """Describe an index.

    Args:
        path: the folder of a saved index.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged.
    """
    with closing(SavedIndex(path)) as saved:
        leaders = int((saved.rows["leader"] == NOWHERE).sum())
        distinct, crowded, named = zip(*_key_by_key(saved), strict=True)
        return Contents(
            path=str(path),
            format=FORMAT,
            scheme=saved.named_settings["scheme"],
            design=str(saved.settings.tables),
            settings=differing_settings(saved.named_settings, about_settings(RuleSettings())),
            documents=len(saved),
            leaders=leaders,
            duplicates=len(saved) - leaders,
            with_words=int((saved.rows["words"] != NOWHERE).sum()),
            indexed=int((saved.rows["indexed"] != 0).sum()),
            most_read=MOST_READ,
            keys=sum(distinct),
            crowded=sum(crowded),
            most_crowded=tuple(nlargest(_MOST_NAMED, chain(*named), key=lambda each: each.documents)),
            files={name: (path / name).stat().st_size for name in (*CHECKED, CHECKSUMS)},
        )


def _key_by_key(saved: SavedIndex) -> Iterator[tuple[int, int, list[CrowdedKey]]]:
    """Yield of each number of keys how many different ones there are, how many are crowded, and the first of these."""
    keys, indexed = keys_of(saved.settings), np.flatnonzero(saved.rows["indexed"])
    fingerprints = np.array(saved.rows["fingerprint"])
    for number in range(keys.count):
        # One number at a time: the keys of all together take twice the memory of the documents.
        own = keys.numbered(number, fingerprints, saved.bands)[indexed]
        values, counts = np.unique(own, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts > MOST_READ)]
        named = zip(values[order[:_MOST_NAMED]].tolist(), counts[order].tolist(), strict=False)
        kind = ("table", number) if number < keys.tables else ("band", number - keys.tables)
        yield len(values), len(order), [CrowdedKey(*kind, value, documents) for value, documents in named]
