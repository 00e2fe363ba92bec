"""Labelled sets: documents, and pairs of which it is known whether they are duplicates.

A set is a folder with two files. `docs.jsonl` has a document a line: `id`, and `text`, or `html`, the
path of a page in the folder, gzip or plain; `cluster` may say which documents belong together.
`pairs.jsonl` has a pair a line: `a` and `b`, two ids; `label`: 1 duplicates, 0 not, null undecided;
`kind` may say of what kind the pair is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dedup.errors import InputError
from dedup.report.explanation.rejoined import rejoin
from dedup.report.explanation.stored import find_page
from dedup.sql.database import Database

_GZIP = b"\x1f\x8b"
_OF_A_SET = "; a labelled set has docs.jsonl and pairs.jsonl"


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document of a labelled set: its text, or the bytes of its page.

    Attributes:
        text: the text, None where there is a page.
        page: the bytes of the page, None where there is a text.
        cluster: what it shares with the documents that belong to it; its own id where it is alone.
    """

    text: str | None
    page: bytes | None
    cluster: str


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two documents, by id, and whether they are near-duplicates."""

    a: str
    b: str
    is_duplicate: bool
    kind: str


@dataclass(frozen=True)
class LabelledSet:
    """Documents by id and labelled pairs of them; undecided pairs are left out."""

    name: str
    documents: dict[str, LabelledDocument]
    pairs: list[LabelledPair]


def read_set(folder: Path, limit: int | None = None) -> LabelledSet:
    """Read a labelled set, or only its first documents.

    Raises:
        InputError: a file is missing or is not what it should be.
    """
    documents: dict[str, LabelledDocument] = {}
    for where, line in _lines(folder / "docs.jsonl", _OF_A_SET):
        if limit is not None and len(documents) >= limit:
            break
        if not isinstance(line.get("id"), str) or not isinstance(line.get("text", line.get("html")), str):
            raise InputError(f"{where}: expected 'id' and either 'text' or 'html', all strings")
        page = None if "text" in line else _read_page(folder / line["html"], where)
        documents[line["id"]] = LabelledDocument(line.get("text"), page, str(line.get("cluster") or line["id"]))
    path = folder / "pairs.jsonl"
    pairs = []
    for where, pair in _pairs(path, _OF_A_SET):
        unknown = {pair.a, pair.b} - documents.keys()
        if unknown and limit is None:
            raise InputError(f"{where}: no document has the id {min(unknown)!r}")
        if not unknown:
            pairs.append(pair)
    return LabelledSet(folder.resolve().name, documents, pairs)


def read_pairs(path: Path) -> list[LabelledPair]:
    """Read a file of labelled pairs, such as the marks of a report; undecided pairs are left out.

    Raises:
        InputError: it cannot be read, or is not what it should be.
    """
    return [pair for _, pair in _pairs(path)]


def _pairs(path: Path, hint: str = "") -> Iterator[tuple[str, LabelledPair]]:
    """Yield the decided pairs of a file, each with where it stands."""
    for where, line in _lines(path, hint):
        if not isinstance(line.get("a"), str) or not isinstance(line.get("b"), str) or "label" not in line:
            raise InputError(f"{where}: expected 'a', 'b' and 'label'")
        if line["label"] not in (0, 1, None):
            raise InputError(f"{where}: label {line['label']!r}: expected 0, 1 or null")
        if line["label"] is not None:
            yield where, LabelledPair(line["a"], line["b"], bool(line["label"]), str(line.get("kind") or ""))


def _lines(path: Path, hint: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, each with where it stands; a hint is told if it cannot be read."""
    try:
        # Editors begin files with a mark. `splitlines` would cut strings at U+2028, which browsers do not escape.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}){hint}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except ValueError:
            raise InputError(f"{where}: not JSON") from None
        except RecursionError:
            raise InputError(f"{where}: not usable JSON: nested too deeply") from None
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected an object")
        yield where, value


def _read_page(path: Path, where: str) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (OSError, EOFError) as error:
        raise InputError(f"{where}: {path} cannot be read ({error})") from None


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
