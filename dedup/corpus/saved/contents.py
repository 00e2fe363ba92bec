"""What an index says of itself, whether all of it is right, and its documents as JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.saved.index import FORMAT, SavedIndex, collect, damaged
from dedup.corpus.state import about_settings, differing_settings
from dedup.errors import InputError
from dedup.index.keys import MOST_READ
from dedup.progress import Progress, track
from dedup.report.output import open_output
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import keys_of
from dedup.signature.batch import bands_of_words

_MOST_NAMED = 20
# To make the bands of all documents anew takes as long as to sign them.
_MOST_BANDS = 10_000


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
        indexed: how many can be found by their keys.
        most_read: how many documents are read of a key, the earliest.
        keys: how many different keys they have.
        crowded: how many of these more documents share than are read.
        most_crowded: the first of these, the largest first.
        files: how many files its documents are in.
        bytes: how many bytes these have.
    """

    path: str
    format: int
    scheme: str
    design: str
    settings: str
    documents: int
    leaders: int
    duplicates: int
    indexed: int
    most_read: int
    keys: int
    crowded: int
    most_crowded: tuple[CrowdedKey, ...]
    files: int
    bytes: int


def read_contents(path: Path) -> Contents:
    """Describe an index. It takes 208 bytes a document.

    Args:
        path: the folder of a saved index.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged.
    """
    saved = SavedIndex(path)
    duplicates = sum(len(batch) - batch.column("leader").null_count for _, batch in saved.batches(["leader"]))
    _, fingerprints, bands = collect(saved.keyed(), len(saved))
    counted = _key_by_key(saved.settings, fingerprints, bands)
    distinct, crowded, named = zip(*counted, strict=True)
    return Contents(
        path=str(path),
        format=FORMAT,
        scheme=saved.named_settings["scheme"],
        design=str(saved.settings.tables),
        settings=differing_settings(saved.named_settings, about_settings(RuleSettings())),
        documents=len(saved),
        leaders=len(saved) - duplicates,
        duplicates=duplicates,
        indexed=len(fingerprints),
        most_read=MOST_READ,
        keys=sum(distinct),
        crowded=sum(crowded),
        most_crowded=tuple(nlargest(_MOST_NAMED, chain(*named), key=lambda each: each.documents)),
        files=len(saved.files),
        bytes=sum(each.stat().st_size for each in saved.files),
    )


def verify(path: Path) -> int:
    """Read all of an index and check it: checksums, order, and what one document says of another.

    Args:
        path: the folder of a saved index.

    Returns:
        How many documents it has.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged; the message says how.
    """
    saved = SavedIndex(path)
    digests = np.empty((len(saved), 2), np.uint64)
    looked_at, start = 1 + len(saved) // _MOST_BANDS, 0
    with Progress("verifying", len(saved)) as progress:
        for block in saved.blocks():
            digests[start : start + len(block.rows)] = block.rows["digest"]
            for place in range(-start % looked_at, len(block.rows), looked_at):
                words = saved.inflate(start + place, block.words[place])
                if words and not np.array_equal(bands_of_words(words), block.bands[place]):
                    raise damaged(path, f"the bands of document {start + place:,} are not those of its words")
            start += len(block.rows)
            progress.show(start)
    if len(np.unique(digests, axis=0)) != len(saved):
        raise damaged(path, "two documents have the same content")
    return len(saved)


def export(saved: SavedIndex, path: Path) -> int:
    """Write the documents of an index as JSONL, bits in hexadecimal; the file appears when all of it is written.

    Args:
        saved: the index.
        path: the file.

    Returns:
        How many documents were written.

    Raises:
        InputError: the name is that of something else.
        DedupError: the file cannot be written.
        IndexFileError: the index is damaged.
    """
    if path.suffix.lower() != ".jsonl":
        raise InputError(f"{path}: an index is Parquet itself, and exported as lines; the name must end in .jsonl")
    with open_output(str(path)) as stream:
        for document, words, bands in track(saved.documents(), "exporting", len(saved)):
            row = {
                "number": document.id,
                "key": document.key,
                "digest": (document.text_digest or b"").hex(),
                "fingerprint": f"{document.fingerprint:016x}",
                "minima": document.sketch.minima.hex(),
                "tokens": document.sketch.tokens,
                "shingles": document.sketch.shingles,
                "leader": document.leader_id,
                "indexed": document.indexed,
                "words": saved.inflate(document.id, words).decode() if words else None,
                "bands": bands.tobytes().hex(),
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(saved)


def _key_by_key(
    settings: RuleSettings, fingerprints: NDArray[np.uint64], bands: NDArray[np.uint64]
) -> Iterator[tuple[int, int, list[CrowdedKey]]]:
    """Yield of each number of keys how many different ones there are, how many are crowded, and the first of these."""
    keys = keys_of(settings)
    for number in range(keys.count):
        # One number at a time: the keys of all together take twice the memory of the documents.
        values, counts = np.unique(keys.numbered(number, fingerprints, bands), return_counts=True)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts > MOST_READ)]
        named = zip(values[order[:_MOST_NAMED]].tolist(), counts[order].tolist(), strict=False)
        kind = ("table", number) if number < keys.tables else ("band", number - keys.tables)
        yield len(values), len(order), [CrowdedKey(*kind, value, documents) for value, documents in named]
