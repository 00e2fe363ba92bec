"""Texts in the database: each is stored once, whoever holds it, and can be found as long as any document does.

Two things hold after every write, whatever came before:

- a text is in the permuted tables, and has its words, if it is comparable (`RuleSettings.fewest_tokens`: long enough)
  and a document holds it (in the paper's mode: an original, and no words are stored);
- a text that no document holds, or has held before it became undecided, is gone.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any

from sqlalchemy import bindparam, delete, exists, select, update

from dedup.signature.deflating import deflate
from dedup.signature.signing import bands_of_words
from dedup.store.key_table import KeyTable, Looked
from dedup.store.recognition import Recognised
from dedup.store.schema import documents, texts, to_signed, to_unsigned
from dedup.store.unit_of_work import Session, UnitOfWork

_WORDS = select(texts.c.words).where(texts.c.digest == bindparam("digest"))
_CHANGE = update(texts).where(texts.c.id.in_(bindparam("ids", expanding=True)))
_IDS = texts.c.id.in_(bindparam("ids", expanding=True))
_IS_HELD = exists().where(documents.c.text_id == texts.c.id)
_IS_HELD_BY_ORIGINAL = exists().where(documents.c.text_id == texts.c.id, documents.c.leader_id.is_(None))
_WAS_HELD = exists().where(documents.c.former_text_id == texts.c.id)
_INDEXED, _NOT_INDEXED = (
    select(*texts.c["id", "fingerprint", "mask", "words"]).where(_IDS, texts.c.indexed == indexed) for indexed in (1, 0)
)
_REMOVE = delete(texts).where(_IDS, ~_IS_HELD, ~_WAS_HELD)


def find_words(session: Session, digest: bytes | None) -> bytes:
    """Return the words of a text, as its signature has them; nothing where they are not stored."""
    deflated = session.execute(_WORDS, {"digest": digest}).scalar()
    return b"" if deflated is None else zlib.decompress(deflated)


def store_text(unit: UnitOfWork, keys: KeyTable, found: Recognised, *, is_led: bool) -> int:
    """Store the text of a document, if it is not there; return its number.

    Args:
        unit: the transaction.
        keys: where it can be found.
        found: the document; without words it has the text of a stored one.
        is_led: whether it is a duplicate.
    """
    content, stored = found.content, found.text
    is_comparable = found.keys is not None and not (is_led and keys.is_of_originals)
    if stored is not None and (stored.indexed or not is_comparable):
        return stored.id
    words = content.words() if is_comparable and not keys.is_of_originals else b""
    values: dict[str, Any] = {"indexed": int(is_comparable), "words": deflate(words) if words else None}
    if stored is None:
        own = {
            "digest": content.text_digest,
            "fingerprint": to_signed(content.fingerprint),
            "sketch": content.sketch.to_bytes(),
            "mask": to_signed(found.mask),
        }
        text_id = unit.add_text({**own, **values})
    else:
        text_id = stored.id
        unit.execute(_CHANGE.values(**values), {"ids": [text_id]})
    if is_comparable and found.keys is not None:
        keys.add(unit, text_id, found.keys)
    return text_id


def index_texts(session: Session, keys: KeyTable, ids: Collection[int]) -> None:
    """Put texts into the tables that copies have held, and originals hold now, where copies are not in them."""
    if not (ids and keys.is_of_originals):
        return
    found = session.execute(_NOT_INDEXED, {"ids": list(ids)}).all()
    for row, own in zip(found, keys.keys_of([_looked(row) for row in found]), strict=True):
        keys.add(session, row.id, own)
    session.execute(_CHANGE.values(indexed=1), {"ids": [row.id for row in found]})


def leave_texts(session: Session, keys: KeyTable, ids: Collection[int]) -> None:
    """Take those of some texts out of the tables that no document holds any more; delete what nothing names."""
    if not ids:
        return
    is_held = _IS_HELD_BY_ORIGINAL if keys.is_of_originals else _IS_HELD
    left = session.execute(_INDEXED.where(~is_held), {"ids": list(ids)}).all()
    if left:
        looked = [_looked(row) for row in left]
        keys.remove(session, zip((row.id for row in left), keys.keys_of(looked), strict=True))
        session.execute(_CHANGE.values(indexed=0, words=None), {"ids": [row.id for row in left]})
    session.execute(_REMOVE, {"ids": list(ids)})


def _looked(row: Any) -> Looked:
    bands = bands_of_words(b"" if row.words is None else zlib.decompress(row.words))
    return Looked(to_unsigned(row.fingerprint), bands, to_unsigned(row.mask))
