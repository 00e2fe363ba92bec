"""Having the disk take a file while it is written."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from io import FileIO

MOST_UNSAFE = 1 << 26


class EarlySync:
    """Hands what was written to the disk now and then, in a thread: at the end little is left to wait for.

    Args:
        file: the file, without a buffer; it is closed by `close`.
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1)
        self._syncing: Future[None] | None = None
        self._unsafe = 0

    def wrote(self, count: int) -> None:
        """Count bytes that were written.

        Raises:
            OSError: the disk has not taken what was written before.
        """
        self._unsafe += count
        if self._unsafe >= MOST_UNSAFE and (self._syncing is None or self._syncing.done()):
            self._finish()
            self._syncing = self._thread.submit(os.fsync, self._file.fileno())
            self._unsafe = 0

    def sync(self) -> None:
        """Make all safe that was written.

        Raises:
            OSError: the disk has not taken it.
        """
        # The system tells of a failure once: it may have told the thread.
        self._finish()
        os.fsync(self._file.fileno())
        self._unsafe = 0

    def close(self) -> None:
        """Close the file; what was written since the last `sync` may get lost."""
        self._thread.shutdown()
        self._file.close()

    def _finish(self) -> None:
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            syncing.result()
