"""A portion of a corpus: read, signed and written into a part, in a worker process where it is lines of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.outputs import to_json
from dedup.corpus.parts import Columns, rows_of_signatures, write_part
from dedup.corpus.signing import Signatures, contents_of, sign
from dedup.corpus.sorting import Ranks
from dedup.readers.documents import (
    AS_READ,
    CorpusDocument,
    Item,
    Order,
    Page,
    ParquetRow,
    Position,
    Rejected,
    Skipped,
)
from dedup.readers.jsonl import LineRange
from dedup.readers.streams import load_pyarrow
from dedup.rules.settings import Mode, RuleSettings
from dedup.signature.charsets import decode_html
from dedup.signature.deflating import deflate
from dedup.signature.pdf import is_pdf
from dedup.signature.signature import SIGNATURE


class Wanted(NamedTuple):
    """What of documents the steps behind need.

    Attributes:
        scheme: how signatures are made.
        fewest_tokens: texts of so many are found by their keys.
        words: whether the words of these are wanted.
        deflated: whether words are.
        records: whether documents are written as they came.
        columns: whether that is as rows of Parquet.
        texts: whether it is in columns that all have.
        order: which of a group of copies is kept.
    """

    scheme: str
    fewest_tokens: int
    words: bool
    deflated: bool = False
    records: bool = False
    columns: bool = False
    texts: bool = False
    order: Order = AS_READ

    @classmethod
    def of_words(cls, settings: RuleSettings, **values: Any) -> Wanted:
        """Return what deciding takes; `values` say what else is wanted."""
        return cls(settings.scheme, settings.fewest_tokens, settings.mode is not Mode.PAPER, **values)


class Portion(NamedTuple):
    """What is known of a portion that was read.

    Attributes:
        rows: its documents, of the type `DOCUMENT`.
        rejected: what between them could not be read as a document.
        skipped: what between them is none, and is all right.
        end: where the last of all stands; None: there is nothing.
        unanalysed: why the analysis of a document failed, by its place.
        fields: which fields named for the text any of them has, see `CorpusDocument.parts`.
        ranks: by what they are sorted.
    """

    rows: NDArray[Any]
    rejected: list[Rejected]
    skipped: list[Skipped]
    end: Position | None
    unanalysed: dict[int, str]
    fields: int
    ranks: Ranks


def read_lines(lines: LineRange, folder: Path, number: int, wanted: Wanted) -> Portion:
    """Read and sign a range of lines, and write the part of this number."""
    items = list(lines.read())
    return write_portion(items, sign(contents_of(items), wanted.scheme), folder, number, wanted)


def write_portion(items: Sequence[Item], signed: Signatures, folder: Path, number: int, wanted: Wanted) -> Portion:
    """Write the documents of a portion into the part of a number.

    Args:
        items: what was read.
        signed: the signatures of the documents among it.
        folder: that of the job.
        number: that of the part.
        wanted: what of them is stored.
    """
    portion, columns = portion_of(items, signed, wanted)
    write_part(folder, number, portion.rows, columns)
    if wanted.columns:
        _write_rows(folder, number, documents_in(items))
    return portion


def portion_of(items: Sequence[Item], signed: Signatures, wanted: Wanted) -> tuple[Portion, Columns]:
    """Return what is known of what was read, and what of it is stored; see `write_portion`."""
    documents = documents_in(items)
    problems = {place: each.problem for place, each in enumerate(documents) if each.problem}
    unanalysed = signed.unanalysed | problems
    signatures = signed.rows.copy()
    signatures[list(problems)] = np.zeros(1, SIGNATURE)
    rows = rows_of_signatures(signatures)
    rows["size"], rows["deflated"] = signed.text_bytes, wanted.deflated
    rows["file"] = [each.position.file for each in documents]
    rows["ordinal"] = [each.position.ordinal for each in documents]
    rows["indexed"] = rows["tokens"] >= wanted.fewest_tokens
    rows["unanalysed"][list(unanalysed)] = True
    rows["titled"] = [bool(signed.titles.get(place)) for place in range(len(rows))]
    has_words = (rows["indexed"] & wanted.words).tolist()
    words = [each if is_wanted else b"" for each, is_wanted in zip(signed.words, has_words, strict=True)]
    mains = [signed.pages.get(place) for place in range(len(documents))]
    columns = Columns(
        [each.key.encode() for each in documents],
        [deflate(each) if each else each for each in words] if wanted.deflated else words,
        [
            record_of(document, main, unanalysed.get(place, "")) + b"\n"
            for place, (document, main) in enumerate(zip(documents, mains, strict=True))
        ]
        if wanted.records
        else (),
        [_text_of(*each).encode() for each in zip(documents, mains, strict=True)] if wanted.texts else (),
        [signed.titles.get(place, "").encode() for place in range(len(documents))] if signed.titles else (),
    )
    portion = Portion(
        rows,
        [item for item in items if isinstance(item, Rejected)],
        [item for item in items if isinstance(item, Skipped)],
        items[-1].position if items else None,
        unanalysed,
        reduce(or_, (document.parts for document in documents), 0),
        Ranks.of(documents, signed.text_bytes, wanted.order),
    )
    return portion, columns


def documents_in(items: Iterable[Item]) -> list[CorpusDocument]:
    """Return the documents among what was read."""
    return [item for item in items if isinstance(item, CorpusDocument)]


def record_of(document: CorpusDocument, text: str | None, problem: str = "") -> bytes:
    """Return a document as it is written to JSONL, without the end of the line.

    A line of JSONL is the same to the byte, rows and text files are objects, pages objects with their fields and the
    main text, or what is known of them, and why.

    Args:
        document: as it was read.
        text: the main text of its page, if it is one; None: the page itself is written, or of a PDF no text.
        problem: why it is not compared, or "".
    """
    record = document.record
    if isinstance(record, Page):
        html = document.html or b""
        own = {"html": decode_html(html).text} if text is None and not is_pdf(html) else {"text": text or ""}
        record = {**record.fields, **own, **({"problem": problem} if problem else {})}
    return record if isinstance(record, bytes) else to_json(record)


def text_column(text: bytes, *, is_unanalysed: bool) -> str | None:
    """Return the text of a document as a column has it; of a page that could not be analysed there is none."""
    return text.decode() or (None if is_unanalysed else "")


def _text_of(document: CorpusDocument, text: str | None) -> str:
    return (document.text or "") if text is None else text


def rows_path(folder: Path, number: int) -> Path:
    """Return where the rows of Parquet of a part stand, a stream of Arrow."""
    return folder / f"{number:08}.arrow"


def _write_rows(folder: Path, number: int, documents: Sequence[CorpusDocument]) -> None:
    arrow = load_pyarrow("")
    if not documents:
        return
    records = [each.record for each in documents]
    assert all(isinstance(each, ParquetRow) for each in records)
    batches = [some[0].batch.take([each.index for each in some]) for some in _runs(records)]
    table = arrow.Table.from_batches(batches).combine_chunks()
    with arrow.OSFile(str(rows_path(folder, number)), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _runs(records: Sequence[Any]) -> Iterator[list[ParquetRow]]:
    for _, some in groupby(records, lambda each: id(each.batch)):
        yield list(some)
