"""What differs between the documents of many verdicts, as far as their words are stored."""

from __future__ import annotations

from collections import OrderedDict

from sqlalchemy import Connection

from dedup.ledger.document_rows import find_words
from dedup.report.contents import RelatedRow
from dedup.report.explanation.rejoined import rejoin
from dedup.report.explanation.stored import find_document
from dedup.report.explanation.words import WordDiff, diff_words

_REMEMBERED = 100
# Of two texts: comparing so many takes a tenth of a second.
_MOST_PAIRS_OF_TOKENS = 100_000_000


class StoredPairs:
    """Compares documents of a database, by their keys, word by word.

    Args:
        connection: inside a transaction, which has to stay open.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._words: OrderedDict[str, bytes] = OrderedDict()

    def compare(self, row: RelatedRow) -> WordDiff | None:
        """Return what differs between original and document; None where that is not stored, or would take long."""
        original, document = self._words_of(row.original), self._words_of(row.dropped)
        pairs = (original.count(b"\n") + 1) * (document.count(b"\n") + 1)
        if not original or not document or pairs > _MOST_PAIRS_OF_TOKENS:
            return None
        return diff_words(rejoin(original), rejoin(document))

    def _words_of(self, key: str) -> bytes:
        known = self._words.get(key)
        if known is None:
            found = find_document(self._connection, key)
            known = self._words[key] = find_words(self._connection, found.text_digest) if found else b""
            if len(self._words) > _REMEMBERED:
                self._words.popitem(last=False)
        return known
