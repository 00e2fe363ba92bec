"""A WARC file that a crawl adds records to."""

from __future__ import annotations

import fcntl
import os
from collections import OrderedDict
from io import BufferedReader, FileIO
from pathlib import Path
from typing import NamedTuple

from crawler.page import Exchange, Pairs
from crawler.warc.records import Refers, as_date, make_records, warcinfo
from dedup.corpus.reading.documents import BadRecordError
from dedup.corpus.reading.files import check_file
from dedup.corpus.reading.warc import find_records
from dedup.errors import DedupError, InputError, SettingsError

MOST_PAYLOADS = 250_000
"""How many contents are known again at most: some 100 MB of digests and addresses."""


class ArchiveError(DedupError):
    """A WARC file cannot be written."""


class _Known(NamedTuple):
    url: str
    date: str


class WarcFile:
    """A WARC file, each record a member of gzip, that a crawl adds to and no other process at the same time.

    What a killed process has left of a record at its end is cut off. A record is in the file, if not on the disk, when
    `write` returns.

    Args:
        path: where it is; made if it is not there.
        overwrite: whether what is there goes.
        made_by: names and values of its `warcinfo` record.

    Raises:
        SettingsError: it cannot be opened, is no WARC file, or another process writes it.
    """

    def __init__(self, path: Path, *, overwrite: bool, made_by: Pairs) -> None:
        self.path = path
        self._payloads: OrderedDict[str, _Known] = OrderedDict()
        try:
            self._file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        except OSError as error:
            raise SettingsError(f"{path}: cannot be written ({error.strerror}); name another file") from None
        try:
            self._begin(overwrite=overwrite, made_by=made_by)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, *, overwrite: bool, made_by: Pairs) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(f"{self.path}: another process writes it; name a file for each") from None
        if overwrite:
            self._file.truncate(0)
        self._file.seek(self._read_known())
        self._file.truncate()
        try:
            self._append(warcinfo(self.path.name, made_by))
        except ArchiveError as error:
            raise SettingsError(str(error)) from None

    def _read_known(self) -> int:
        """Learn which contents the file holds; return where it ends, without what is torn."""
        try:
            file = check_file(str(self.path), str(self.path), 0)
        except InputError as error:
            raise SettingsError(str(error)) from None
        if file is None or not file.size:
            return 0
        last = None
        with BufferedReader(FileIO(self.path), 1 << 18) as raw:
            for last in find_records(raw, file, 0):
                if not isinstance(last.record, BadRecordError):
                    self._note(last.record)
        is_torn = last is not None and isinstance(last.record, BadRecordError)
        if last is None or not file.compression or (is_torn and not last.start):
            raise SettingsError(f"{self.path}: no WARC file of gzip; name another file, or -O writes it anew")
        return last.start if is_torn else file.size

    def _note(self, record: object) -> None:
        headers = record.rec_headers  # type: ignore[attr-defined]
        if headers.get_header("WARC-Type") == "response":
            digest, url, date = map(headers.get_header, ("WARC-Payload-Digest", "WARC-Target-URI", "WARC-Date"))
            if digest and url and date:
                self._remember(digest, _Known(url, date))

    def _remember(self, digest: str, known: _Known) -> None:
        self._payloads[digest] = known
        if len(self._payloads) > MOST_PAYLOADS:
            self._payloads.popitem(last=False)

    def find_same(self, exchange: Exchange) -> tuple[str, str] | None:
        """Return address and date of a record in the file that has the same content."""
        return self._payloads.get(exchange.payload_digest)

    def write(self, exchange: Exchange, refers: Refers | None, notes: Pairs = ()) -> None:
        """Add the records of an exchange; see `make_records`.

        Raises:
            ArchiveError: it cannot be written; nothing of it is in the file.
        """
        self._append(make_records(exchange, refers, notes))
        if refers is None:
            self._remember(exchange.payload_digest, _Known(exchange.url, as_date(exchange.time)))

    def _append(self, content: bytes) -> None:
        start = self._file.tell()
        try:
            written = 0
            while written < len(content):
                written += self._file.write(memoryview(content)[written:]) or 0
        except OSError as error:
            # Else what is written next, should that succeed, would be lost behind half a record.
            self._file.seek(start)
            self._file.truncate()
            raise ArchiveError(f"{self.path}: cannot be written ({error.strerror})") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
