"""What differs between the documents of many verdicts, as far as their words are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from sqlalchemy import Connection

from dedup.ledger.document_rows import find_words
from dedup.report.contents import RelatedRow
from dedup.report.explanation.rejoined import rejoin
from dedup.report.explanation.stored import find_document
from dedup.report.explanation.words import WordDiff, diff_words

_REMEMBERED = 100
# Of two texts: comparing so many takes a tenth of a second.
_MOST_PAIRS_OF_TOKENS = 100_000_000


def stored_differences(connection: Connection, rows: Iterable[RelatedRow]) -> Iterator[WordDiff | None]:
    """Yield what differs between documents of a database, see `differences_of`.

    Args:
        connection: inside a transaction, which has to stay open.
        rows: duplicates, or what is similar.
    """

    def words_of(key: str) -> bytes:
        found = find_document(connection, key)
        return find_words(connection, found.text_digest) if found else b""

    return differences_of(rows, words_of)


def differences_of(rows: Iterable[RelatedRow], words_of: Callable[[str], bytes]) -> Iterator[WordDiff | None]:
    """Yield what differs between original and document of each row; None where that is not kept, or would take long.

    Args:
        rows: duplicates, or what is similar.
        words_of: gives the tokens of a document by its key, a line feed between them; nothing where there are none.
    """
    # Rows of one cluster share its leader.
    remembered = lru_cache(_REMEMBERED)(words_of)
    for row in rows:
        original, document = remembered(row.original), remembered(row.dropped)
        pairs = (original.count(b"\n") + 1) * (document.count(b"\n") + 1)
        is_told = original and document and pairs <= _MOST_PAIRS_OF_TOKENS
        yield diff_words(rejoin(original), rejoin(document)) if is_told else None
