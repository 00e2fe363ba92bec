"""What an index says of itself, whether all of it is right, and its documents as JSONL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dedup.corpus.saved.index import FORMAT, SavedIndex, damaged
from dedup.corpus.state import about_settings, differing_settings
from dedup.errors import InputError
from dedup.progress import Progress, track
from dedup.report.output import open_output
from dedup.rules.settings import RuleSettings
from dedup.signature.batch import bands_of_words

# To make the bands of all documents anew takes as long as to sign them.
_MOST_BANDS = 10_000


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
    files: int
    bytes: int


def read_contents(path: Path) -> Contents:
    """Describe an index.

    Args:
        path: the folder of a saved index.

    Raises:
        InputError: there is no index.
        IndexFileError: it is damaged.
    """
    saved = SavedIndex(path)
    duplicates = sum(len(batch) - batch.column("leader").null_count for _, batch in saved.batches(["leader"]))
    return Contents(
        path=str(path),
        format=FORMAT,
        scheme=saved.named_settings["scheme"],
        design=str(saved.settings.tables),
        settings=differing_settings(saved.named_settings, about_settings(RuleSettings())),
        documents=len(saved),
        leaders=len(saved) - duplicates,
        duplicates=duplicates,
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
