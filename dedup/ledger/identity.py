"""What a document is known by: its key, kept apart from the same keys of other item classes, spaces and texts."""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from dedup.ledger.document_rows import key_digest
from dedup.rules.documents import Content, StoredDocument
from dedup.signature.signature import digest
from dedup.sql.schema import properties

_PLAIN_CLASS = select(properties.c.value).where(properties.c.name == "item class")
_DIGITS = 12
_SEPARATE = re.compile(rf" \((?:text|bytes) [0-9a-f]{{{_DIGITS}}}\)\Z")


class Identity(NamedTuple):
    """What a document is known by.

    Attributes:
        key: the key that reports show.
        given_key: the key that it came under.
        space: documents of other spaces never meet it.
        item_class: the class of its items, where it keeps their keys apart; else empty.
        variant: what sets it apart from others of its text; under its key it is the same document as another one.
    """

    key: str
    given_key: str
    space: str = ""
    item_class: str = ""
    variant: str = ""

    @property
    def is_separate(self) -> bool:
        """Whether it has a key of its own, because other texts came under its key."""
        return self.key != self.given_key

    @property
    def place(self) -> str:
        """The space in which its duplicates are looked for, see `dedup.rules.scope`."""
        return place_of(self.space, self.variant)

    @property
    def key_digest(self) -> bytes:
        """The digest by which it is looked up."""
        return self.digest_of(self.key)

    @property
    def given_digest(self) -> bytes | None:
        """The digest of the key alone that it came under, where `key_digest` is of anything else."""
        is_plain = not (self.is_separate or self.space or self.item_class)
        return None if is_plain else key_digest(self.given_key)

    def digest_of(self, key: str) -> bytes:
        """Return the digest of another key of the same class and space."""
        return key_digest(key, self.space, self.item_class)

    def separated(self, text_digest: bytes, body_digest: bytes | None, *, has_text: bool) -> Identity:
        """Return what it is known by if another text came under its key first.

        Documents without text are told apart by their bytes.
        """
        if has_text or body_digest is None:
            return self._replace(key=f"{self.given_key} (text {text_digest.hex()[:_DIGITS]})")
        return self._replace(key=f"{self.given_key} (bytes {body_digest.hex()[:_DIGITS]})")


def place_of(space: str, variant: str) -> str:
    """Return the part of a space that holds the documents of one variant alone; of none, the space."""
    if not variant:
        return space
    part = f"variant {digest(variant.encode('utf-8', 'replace')).hex()[:_DIGITS]}"
    return f"{space}\n{part}" if space else part


def plain_class_of(connection: Connection, item_class: str) -> str:
    """Return the item class whose keys stand for themselves: the first that was seen, which may be this one."""
    found: str | None = connection.scalar(_PLAIN_CLASS)
    if found is None:
        connection.execute(insert(properties).values(name="item class", value=item_class))
        return item_class
    return found


def given_key_of(key: str) -> str:
    """Return the key that a document came under, of the key that reports show."""
    return _SEPARATE.sub("", key)


def is_same(known: StoredDocument, content: Content) -> bool:
    """Say whether a document holds what it held before; without text it is told by its bytes."""
    if known.text_digest != content.text_digest:
        return False
    return bool(content.sketch.tokens) or known.body_digest == content.body_digest
