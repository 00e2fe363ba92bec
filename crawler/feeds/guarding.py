"""What a feed is written through: a failure is told once, in a line, and costs no other feed an item."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, cast

from scrapy import Spider
from scrapy.extensions.feedexport import FeedSlot, FeedStorageProtocol, FileFeedStorage, StdoutFeedStorage
from scrapy.utils.defer import ensure_awaitable

from dedup.errors import DedupError

_SCRAPYS_LOG = "scrapy.extensions.feedexport"


class FeedError(DedupError):
    """A feed could not be written."""


def guard(storage: FeedStorageProtocol, start: int | None, tell: Callable[[BaseException], None]) -> GuardedStorage:
    """Return a storage in the place of another one, which tells of what fails there.

    Args:
        storage: the other one.
        start: the byte at which the feed begins in a file that it is added to; what is behind it goes. None: where
            the storage begins by itself.
        tell: told of the first failure.
    """
    logging.getLogger(_SCRAPYS_LOG).addFilter(_is_news)
    # Scrapy counts feeds by the name of this class.
    named = type(type(storage).__name__, (GuardedStorage,), {})
    return cast("GuardedStorage", named(storage, start, tell))


def explain(error: BaseException) -> str:
    """Say in a few words what has failed."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    told = " ".join(str(error).split())
    return told if isinstance(error, DedupError) else f"{type(error).__name__}: {told}"


def has_failed(slot: FeedSlot) -> bool:
    """Say whether a feed has failed."""
    return isinstance(slot.storage, GuardedStorage) and slot.storage.has_failed


def fail(slot: FeedSlot, error: Exception) -> None:
    """Let a feed fail: nothing is written to it any more."""
    if isinstance(slot.storage, GuardedStorage):
        slot.storage.fail(error)


class GuardedStorage:
    """A storage of feeds whose files never fail, see `guard`."""

    def __init__(self, storage: FeedStorageProtocol, start: int | None, tell: Callable[[BaseException], None]) -> None:
        self.has_failed = False
        self._storage = storage
        self._start = start
        self._tell = tell

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the storage; what cannot be opened takes everything and keeps nothing."""
        file: IO[bytes] | None = None
        try:
            if self._start is not None and isinstance(self._storage, FileFeedStorage):
                path = Path(self._storage.path)
                if path.is_file():
                    os.truncate(path, self._start)
            file = self._storage.open(spider)
        except Exception as error:  # whatever a storage raises, the crawl is to end in order
            self.fail(error)
        return cast("IO[bytes]", GuardedFile(file, self))

    async def store(self, file: IO[bytes]) -> None:
        """Store what was written.

        Raises:
            FeedError: it failed, then or before; it has been told.
        """
        written = cast("GuardedFile", file).file
        if written is not None and not self.has_failed:
            try:
                written.flush()
                await ensure_awaitable(self._storage.store(written))
            except Exception as error:  # as above
                self.fail(error)
        if self.has_failed:
            self._discard(written)
            raise FeedError("the feed is not stored")

    def fail(self, error: BaseException) -> None:
        """Tell of a failure, if it is the first one."""
        if not self.has_failed:
            self.has_failed = True
            self._tell(error)

    def _discard(self, file: IO[bytes] | None) -> None:
        if isinstance(self._storage, StdoutFeedStorage):
            # What is still in its buffer would fail once more when Python ends.
            with Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), sys.stdout.fileno())
        elif file is not None:
            with suppress(OSError):
                file.close()


class GuardedFile(RawIOBase):
    """A file that can be written to and never fails: from a failure on it takes everything and keeps nothing.

    Attributes:
        file: where it is written; None where that could not be opened.
    """

    def __init__(self, file: IO[bytes] | None, storage: GuardedStorage) -> None:
        super().__init__()
        self.file = file
        self._storage = storage
        self._size = 0

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes; return how many, which are all."""
        size = memoryview(data).nbytes
        self._size += size
        if self.file is not None and not self._storage.has_failed:
            try:
                self.file.write(data)
            except Exception as error:  # whatever a storage's file raises
                self._storage.fail(error)
        return size

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._size


def _is_news(record: logging.LogRecord) -> bool:
    """Pass over what Scrapy logs, with a traceback, of a feed whose failure has been told."""
    return not (record.exc_info and isinstance(record.exc_info[1], FeedError))
