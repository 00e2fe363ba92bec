"""What an index says of itself: format, scheme, counts, bytes, skew."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dedup.corpus.deciding.known import FILES, NOWHERE
from dedup.corpus.saved.folder import CHECKED, CHECKSUMS, FINGERPRINTS, FORMAT
from dedup.corpus.saved.reader import SavedIndex
from dedup.corpus.state.checkpoint import about_settings, differing_settings
from dedup.index.memory import index_file
from dedup.index.memory.results import CrowdedBucket, crowded_buckets
from dedup.rules.settings import RuleSettings


@dataclass(frozen=True)
class Documents:
    """What an index knows of documents beside their fingerprints.

    Attributes:
        count: how many there are, of different contents.
        leaders: how many of them are originals.
        duplicates: how many are duplicates of these.
        with_words: of how many the words are stored.
        settings: the settings that are not the defaults; empty: all are.
    """

    count: int
    leaders: int
    duplicates: int
    with_words: int
    settings: str


@dataclass(frozen=True)
class Contents:
    """What an index consists of.

    Attributes:
        path: where it is.
        format: the version of the folder's format; None for a file of fingerprints alone.
        file_format: that of the file of fingerprints.
        scheme: name and version of the way the fingerprints were made.
        design: the table design.
        indexed: how many documents stand in the tables.
        fingerprints: how many different fingerprints they have.
        shared: how many of these several documents have.
        most_shared: how many documents at most have the same.
        crowds: blocks that very many fingerprints have in common, the largest first.
        files: the bytes of each file.
        documents: what else is known; None for a file of fingerprints alone.
    """

    path: str
    format: int | None
    file_format: int
    scheme: str
    design: str
    indexed: int
    fingerprints: int
    shared: int
    most_shared: int
    crowds: tuple[CrowdedBucket, ...]
    files: dict[str, int] = field(default_factory=dict)
    documents: Documents | None = None


def read_contents(path: Path) -> Contents:
    """Describe an index, reading as little of it as that takes.

    Args:
        path: the folder of a saved index, or a file that `MemoryIndex.save` wrote.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged.
    """
    documents = None
    fingerprints, names = path, [path]
    if not path.is_file():
        with closing(SavedIndex(path)) as saved:
            documents = _documents(saved)
        fingerprints, names = path / FINGERPRINTS, [path / name for name in (*CHECKED, CHECKSUMS)]
    header, segment = index_file.read(fingerprints)
    return Contents(
        path=str(path),
        format=None if documents is None else FORMAT,
        file_format=index_file.FORMAT_VERSION,
        scheme=header.scheme,
        design=header.design,
        indexed=segment.documents,
        fingerprints=header.fingerprints,
        shared=header.groups,
        most_shared=int(np.diff(segment.starts).max()) if header.groups else min(1, header.fingerprints),
        crowds=crowded_buckets([segment]),
        files={each.name: each.stat().st_size for each in names},
        documents=documents,
    )


def _documents(saved: SavedIndex) -> Documents:
    leaders = int((saved.rows["leader"] == NOWHERE).sum())
    return Documents(
        count=len(saved),
        leaders=leaders,
        duplicates=len(saved) - leaders,
        with_words=int((saved.rows[FILES[2]] != NOWHERE).sum()),
        settings=differing_settings(saved.named_settings, about_settings(RuleSettings())),
    )
