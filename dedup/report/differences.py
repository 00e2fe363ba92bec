"""What differs between the documents of a report's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from sqlalchemy import Connection

from dedup.report.contents import Row
from dedup.report.rejoining import rejoin
from dedup.report.stored_texts import find_document, find_text, stored_scheme, stored_scopes
from dedup.report.triage import names_in
from dedup.report.words import WordDiff, diff_words, tokens_of
from dedup.signature.schemes import DEFAULT, Scheme
from dedup.signature.tokens import Tokens
from dedup.store.text_rows import find_words

_REMEMBERED = 100
# Of two texts: comparing so many takes a tenth of a second.
_MOST_PAIRS_OF_TOKENS = 100_000_000


def stored_differences(connection: Connection, database: str, rows: Iterable[Row]) -> Iterator[WordDiff | None]:
    """Yield what differs between documents of a database, see `differences_of`.

    Args:
        connection: inside a transaction, which has to stay open.
        database: the name of the database.
        rows: duplicates, or what is similar.
    """
    scheme, scopes = stored_scheme(connection, database), stored_scopes(connection)

    def words_of(key: str) -> bytes:
        found = find_document(connection, key)
        return find_words(connection, found.text_digest) if found else b""

    def text_of(key: str) -> str | None:
        found = find_document(connection, key)
        return find_text(connection, found, scopes) if found else None

    return differences_of(rows, words_of, text_of, scheme)


def differences_of(
    rows: Iterable[Row],
    words_of: Callable[[str], bytes],
    text_of: Callable[[str], str | None] = lambda _: None,
    scheme: Scheme = DEFAULT,
) -> Iterator[WordDiff | None]:
    """Yield what differs between original and document of each row; None where that is not kept, or would take long.

    Args:
        rows: duplicates, or what is similar.
        words_of: gives the words of a document by its key, as its signature has them; nothing where there are none.
        text_of: gives the text of an original by its key, if it is stored.
        scheme: the way the words were made.
    """

    @lru_cache(_REMEMBERED)
    def original_of(key: str) -> tuple[Tokens, frozenset[bytes] | None] | None:
        # Rows of one cluster share its leader.
        if (text := text_of(key)) is not None:
            return tokens_of(text, scheme), names_in(text)
        words = words_of(key)
        return (rejoin(words), None) if words else None

    for row in rows:
        # Words of a later text say nothing of why a page was dropped.
        original = None if row.has_changed else original_of(row.original)
        document = words_of(row.dropped) if original else b""
        is_compared = document and original and len(original[0]) * (document.count(b"\n") + 1) <= _MOST_PAIRS_OF_TOKENS
        yield diff_words(original[0], rejoin(document), original[1]) if is_compared and original else None
