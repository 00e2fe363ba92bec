"""Texts that are all there, decided in this process by the steps of a run over files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dedup.corpus import chains
from dedup.corpus.decisions import decision_in
from dedup.corpus.parts import Parts, RowsFile
from dedup.corpus.portion import Wanted, write_portion
from dedup.corpus.signing import contents_of, sign
from dedup.readers.documents import CorpusDocument, Position, storable
from dedup.rules.decisions import Decision, Details
from dedup.rules.documents import Verdict
from dedup.rules.settings import RuleSettings

_AT_ONCE = 1000


def decide_texts(texts: Iterable[tuple[str, str | bytes]], settings: RuleSettings, folder: Path) -> Iterator[Decision]:
    """Decide texts one after the other, each against all before it.

    Args:
        texts: keys and texts, or pages where they are bytes.
        settings: how they are decided.
        folder: for what does not stand in memory, an empty one.

    Returns:
        A decision for each text, in their order.

    Raises:
        DedupError: no signature can be made, whatever the text.
    """
    parts = read_texts(texts, settings, folder)
    left = iter(decide_parts(parts, settings))
    row = next(left, None)
    for number in range(len(parts)):
        if row is not None and row["number"] == number:
            yield decision_in(row, parts)
            row = next(left, None)
        else:
            details = Details(text_bytes=int(parts.rows["size"][number]))
            yield Decision.of(parts.key(number), Verdict.NEW, details)


def read_texts(
    texts: Iterable[tuple[str, str | bytes]], settings: RuleSettings, folder: Path, *, deflated: bool = False
) -> Parts:
    """Sign texts and write them into parts, with their words `deflated` or not; see `decide_texts`."""
    left, parts = iter(texts), count()
    with closing(RowsFile(folder)) as rows:
        while some := list(islice(left, _AT_ONCE)):
            documents = [_document(key, content) for key, content in some]
            signed = sign(contents_of(documents), settings.scheme)
            wanted = Wanted.of_words(settings, deflated=deflated)
            rows.add(write_portion(documents, signed, folder, next(parts), wanted).rows)
    return Parts(folder)


def decide_parts(parts: Parts, settings: RuleSettings) -> NDArray[Any]:
    """Decide documents; see `dedup.corpus.chains.complete`."""
    tasks = chains.pair(parts, settings)
    return chains.complete(parts, [chains.decide(parts.folder, *task, settings) for task in tasks], settings)


def _document(key: str, content: str | bytes) -> CorpusDocument:
    text, html = (storable(content), None) if isinstance(content, str) else (None, content)
    return CorpusDocument(storable(key), text, html, "", Position(0, 0, 0), b"")
