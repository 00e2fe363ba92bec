"""Word lists of users, by what is in them.

A scheme names a list by a digest of its content: two schemes are the same where their words are. The content
is stored with every index and given to every worker process, neither of which needs the file.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from dedup.errors import SettingsError

_lists: dict[str, bytes] = {}


class Vocabulary(NamedTuple):
    """The Chinese words that a text is cut into.

    They are looked for in runs of Han: a word with letters or digits in it (T恤) is none here.

    Attributes:
        base: name of the word list that stands in the place of jieba's dictionary; empty: that.
        added: name of the one whose words are added to it, or replace its own; empty: none are.
    """

    base: str = ""
    added: str = ""


JIEBA = Vocabulary()
"""The words of the dictionary that jieba brings."""


def register(content: bytes) -> str:
    """Make a word list known in this process; return its name, a digest."""
    name = blake2b(content, digest_size=8).hexdigest()
    _lists[name] = content
    return name


def registered() -> dict[str, bytes]:
    """Return the word lists that are known in this process, by their names."""
    return dict(_lists)


def content_of(name: str) -> bytes:
    """Return the content of a word list.

    Raises:
        SettingsError: it is not known in this process.
    """
    try:
        return _lists[name]
    except KeyError:
        raise SettingsError(f"the word list {name} is not known here; name its file") from None


def prepare(lists: Iterable[bytes]) -> None:
    """Make word lists known in this process."""
    for content in lists:
        register(content)


def pack(names: Iterable[str]) -> str:
    """Return the contents of word lists as text, to be stored with an index; nothing of none."""
    contents = [content_of(name).decode() for name in names]
    return "" if not contents else b64encode(zlib.compress(json.dumps(contents).encode())).decode()


def unpack(packed: str) -> None:
    """Make known what `pack` returned.

    Raises:
        SettingsError: it is not that.
    """
    try:
        prepare(content.encode() for content in json.loads(zlib.decompress(b64decode(packed)) if packed else "[]"))
    except (ValueError, TypeError, AttributeError, zlib.error) as error:
        raise SettingsError(f"its word lists cannot be read ({error})") from None
