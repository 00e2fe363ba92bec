"""Marks of a report as a labelled set: the documents are those of the database that the report is of."""

from __future__ import annotations

from pathlib import Path

from dedup.errors import InputError
from dedup.report.evaluation.labelled import LabelledDocument, LabelledSet, read_pairs
from dedup.report.explanation.rejoined import rejoin
from dedup.report.explanation.stored import find_page
from dedup.sql.database import Database


def read_marked(path: Path, database: Database) -> tuple[LabelledSet, int]:
    """Read pairs that a person has marked, with their texts, or with the words of those that are not stored.

    Args:
        path: the file of pairs, see `dedup.report.evaluation.labelled.read_pairs`.
        database: where the documents are known.

    Returns:
        The set, and how many pairs are left out, because neither text nor words of a document are stored.

    Raises:
        InputError: the file is not what it should be, or no pair is left.
    """
    pairs = read_pairs(path)
    if not pairs:
        raise InputError(f"{path}: no marks; mark pairs in a report, and save them")
    texts = {key: _text_of(database, key) for key in dict.fromkeys(key for pair in pairs for key in (pair.a, pair.b))}
    known = [pair for pair in pairs if texts[pair.a] is not None and texts[pair.b] is not None]
    if not known:
        raise InputError(
            f"{path}: database {database.name} has the texts or words of none of these {len(pairs):,} pairs: "
            "name the database that the report was made of"
        )
    clusters = {pair.b: pair.a for pair in known}
    documents = {
        key: LabelledDocument(text, None, clusters.get(key, key)) for key, text in texts.items() if text is not None
    }
    return LabelledSet(path.stem, documents, known), len(pairs) - len(known)


def _text_of(database: Database, key: str) -> str | None:
    found = find_page(database, key)
    if found is None:
        return None
    side = found.side
    if side.text is not None:
        return side.text
    return rejoin(side.signature.words).data.decode() if side.signature.words else None
