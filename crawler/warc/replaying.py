"""Pages from WARC files in the place of a web: `scrapy crawl site -a warc=crawl.warc.gz`."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from io import BufferedReader, FileIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, cast
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.http.headers import Headers

from crawler.reasons import Refused
from crawler.request_meta import CUT_OFF, FETCHED, RECORD, ROW
from crawler.settings import CrawlerSettings
from dedup.console import counted, plain
from dedup.errors import InputError, SettingsError
from dedup.readers.documents import BadRecordError, CorpusFile, storable
from dedup.readers.files import find_files
from dedup.readers.responses import is_success
from dedup.readers.streams import is_url
from dedup.readers.warc import (
    Found,
    body_of,
    find_records,
    holds_page,
    kind_of,
    read_record,
    target_of,
)
from dedup.stage.project import settings_of

logger = logging.getLogger(__name__)

MOST_PAYLOADS = 250_000
"""How many contents are known again at most: some 100 MB of digests and addresses."""

FLAG = "archived"
"""Flag of a response that comes from a WARC file."""

_BUFFER = 1 << 18
_AT_ONCE = 500
_NO_LIMIT = 1 << 40
# They speak of how the page was sent, and it is as it was before.
_OF_SENDING = frozenset(("content-encoding", "content-length", "transfer-encoding"))
# By which header the content of a record without any is known, by its profile.
_REFERENCES = {"identical-payload-digest": "WARC-Payload-Digest", "server-not-modified": "WARC-Target-URI"}
_NOT_MODIFIED = "304"
# Each is read from the beginning of its member.
_MANY_OF_A_MEMBER = 1000
_TIMES = ("%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z")


class Location(NamedTuple):
    """Where a record stands: the path of the file, the byte of the member of gzip, and which record of it."""

    # No number: a run that goes on may find more files in a folder.
    file: str
    start: int
    number: int


class Archives:
    """WARC files whose pages are crawled.

    Args:
        crawler: the crawl.
        paths: the files, or folders with such files.

    Raises:
        SettingsError: one cannot be read, or is no WARC file.
    """

    def __init__(self, crawler: Crawler, paths: Sequence[str]) -> None:
        self._with_pdf = settings_of(crawler, CrawlerSettings).pdf
        self._limit = crawler.settings.getint("DOWNLOAD_MAXSIZE") or _NO_LIMIT
        for path in filter(is_url, paths):
            raise SettingsError(f"warc {path}: lies elsewhere; copy it to this machine")
        try:
            files = find_files(paths).files
        except InputError as error:
            raise SettingsError(str(error)) from None
        self._files = {file.path: file for file in files if file.format == "warc"}
        # What else stands in a folder is of no interest.
        if others := {file.path for file in files}.intersection(paths).difference(self._files):
            raise SettingsError(f"warc {min(others)}: no WARC file by its name, .warc or .warc.gz")
        if not self._files:
            raise SettingsError(f"warc {', '.join(paths)}: no WARC file there, .warc or .warc.gz")
        self._contents: OrderedDict[str, Location] = OrderedDict()
        # Of records without content, by what it may yet be found, and their addresses.
        self._waiting: list[tuple[str, str]] = []
        self._without_content = 0
        self.skipped: Counter[str] = Counter()
        self._under_way: dict[int, asyncio.Event] = {}

    @property
    def paths(self) -> set[str]:
        """The paths of the files."""
        return {str(Path(path).resolve()) for path in self._files}

    async def find_pages(self) -> AsyncIterator[tuple[str, Location | str]]:
        """Yield the address of each page and where it stands, in the order of the files; of damage what is wrong.

        A record without content stands where the content is of the record that it refers to, over others without
        content, in whatever file; those whose content is in none are counted in one line. What is no page is counted in
        `skipped`.
        """
        found = self._find()
        while batch := await asyncio.to_thread(lambda: list(islice(found, _AT_ONCE))):
            for each in batch:
                yield each
        if self._without_content:
            logger.warning(
                "%s without content, which is in no archive given: skipped; give the earlier archives, too, "
                "as in -a warc=FIRST,SECOND",
                counted(self._without_content, "record"),
            )

    def _find(self) -> Iterator[tuple[str, Location | str]]:
        for file in self._files.values():
            logger.info("pages come from %s", plain(file.name))
            with _opened(file) as raw:
                for found in find_records(raw, file, self._limit, is_wanted=_depends_on_body):
                    if found.number == _MANY_OF_A_MEMBER:
                        message = (
                            "%s holds many records in a member of gzip, which takes long: warcio recompress mends it"
                        )
                        logger.warning(message, plain(file.name))
                    try:
                        if isinstance(found.record, BadRecordError):
                            raise found.record
                        if (location := self._locate(found, file.path)) is not None:
                            yield _address_of(found.record), location
                    except BadRecordError as error:
                        yield f"{file.name} at byte {found.start:,}", str(error)
        yield from self._find_waiting()

    def _find_waiting(self) -> Iterator[tuple[str, Location]]:
        """Yield the records without content that came before their content; count those that have none."""
        waiting = defaultdict(list)
        for reference, url in self._waiting:
            waiting[reference].append(url)
        found = list(self._contents.keys() & waiting.keys())
        while found:
            reference = found.pop()
            for url in waiting.pop(reference, ()):
                yield url, self._contents.setdefault(url, self._contents[reference])
                found.append(url)
        self._without_content += sum(map(len, waiting.values()))

    def _locate(self, found: Found, file: str) -> Location | None:
        """Return where the content of a page stands; None for what is no page, and where it was not found yet."""
        record = found.record
        header = record.rec_headers.get_header
        is_page, kind = kind_of(record)
        if is_page is None:
            is_page = found.block is not None and self._holds_page(record, body_of(found, self._limit).data)
        if is_page and record.rec_type != "conversion":
            return self._remember(map(header, _REFERENCES.values()), Location(file, found.start, found.number))
        if not _is_seen_again(record):
            if record.rec_type == "revisit":
                kind = f"http {record.http_headers.get_statuscode()}"
            if kind and not header("WARC-Target-URI", "").endswith("/robots.txt"):
                self.skipped[kind.replace(" ", "_") if kind.startswith("http ") else "not_html"] += 1
            return None
        reference = header(_REFERENCES.get(header("WARC-Profile", "").rpartition("/")[2], ""))
        if reference in self._contents:
            # Another one may refer to this one in its turn.
            return self._remember([header("WARC-Target-URI")], self._contents[reference])
        kind = "html" if record.http_headers is None else record.http_headers.get_header("Content-Type", "html")
        if "html" in kind.lower():
            self._note_missing(record, reference)
        return None

    def _holds_page(self, record: Any, body: bytes) -> bool:
        return holds_page(record, body, with_pdf=self._with_pdf)

    def _note_missing(self, record: Any, reference: str | None) -> None:
        """Note a page whose content was not found yet; nobody has that of a copy that is nearly its original."""
        if reference is None:
            self.skipped["revisit"] += 1
        elif len(self._waiting) < MOST_PAYLOADS:
            self._waiting.append((reference, _address_of(record)))
        else:
            self._without_content += 1

    def _remember(self, references: Iterable[str | None], location: Location) -> Location:
        """Note by what a content is found, and where it stands."""
        for reference in filter(None, references):
            self._contents[reference] = location
        while len(self._contents) > MOST_PAYLOADS:
            self._contents.popitem(last=False)
        return location

    def enter(self, request: Request) -> None:
        """Note that a page is under way; those that come later are decided later."""
        self._under_way[request.meta[ROW]] = asyncio.Event()
        self._let_first_go_on()

    async def wait_in_order(self, request: Request) -> None:
        """Return once all pages have left that were under way before this one."""
        await self._under_way[request.meta[ROW]].wait()

    def leave(self, request: Request) -> None:
        """Note that a page was handed on, or will never be."""
        self._under_way.pop(request.meta[ROW], None)
        self._let_first_go_on()

    def _let_first_go_on(self) -> None:
        if self._under_way:
            next(iter(self._under_way.values())).set()

    def read(self, request: Request, location: Location) -> Response:
        """Return the page at a location, as if its server had just sent it.

        Raises:
            BadRecordError: it is not there, or damaged.
        """
        file = self._files[location.file]
        with _opened(file) as raw:
            found = read_record(raw, file, location.start, location.number, self._limit)
        body, head = body_of(found, self._limit), found.record.http_headers
        sent = [] if head is None else head.headers
        headers = Headers({} if sent else {"Content-Type": found.record.content_type})
        for name, value in sent:
            if name.lower() not in _OF_SENDING:
                headers.appendlist(name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        request.meta[FETCHED] = _time_of(found.record.rec_headers.get_header("WARC-Date"))
        status = 200 if head is None else int(head.get_statuscode())
        flags = [FLAG] if body.is_whole else [FLAG, CUT_OFF]
        kind = HtmlResponse if holds_page(found.record, body.data) else Response
        return kind(request.url, status, headers, body.data, flags, request)


class ReplayingMiddleware:
    """Downloader middleware: what the spider has found in a WARC file is taken from there, and nobody is asked.

    It has to be farther from the downloader than what asks for a robots.txt.
    """

    def __init__(self, archives: Archives) -> None:
        self._archives = archives

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(_archives_of(crawler))

    async def process_request(self, request: Request) -> Response | None:
        location = request.meta.get(RECORD)
        if location is None:
            return None
        self._archives.enter(request)
        try:
            return await asyncio.to_thread(self._archives.read, request, Location(*location))
        except (BadRecordError, KeyError, OSError) as error:
            raise Refused("damaged_record", str(error)) from error


class ArchiveOrderMiddleware:
    """Spider middleware: pages of WARC files are analysed at the same time, and decided in the order of the files."""

    def __init__(self, archives: Archives) -> None:
        self._archives = archives

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(_archives_of(crawler))

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        request = cast("Request", response.request)
        try:
            async for output in result:
                if RECORD in request.meta:
                    await self._archives.wait_in_order(request)
                yield output
        finally:
            if RECORD in request.meta:
                self._archives.leave(request)


def _archives_of(crawler: Crawler) -> Archives:
    archives: Archives | None = getattr(crawler.spider, "archives", None)
    if archives is None:
        raise NotConfigured
    return archives


def _opened(file: CorpusFile) -> closing[BufferedReader[Any]]:
    return closing(BufferedReader(FileIO(file.path), _BUFFER))


def _depends_on_body(record: Any) -> bool:
    return kind_of(record)[0] is None


def _is_seen_again(record: Any) -> bool:
    """Return whether a record stands for what is in another one, as far as it says."""
    head = record.http_headers
    status = None if head is None else head.get_statuscode()
    return record.rec_type == "revisit" and (head is None or is_success(status) or status == _NOT_MODIFIED)


def _address_of(record: Any) -> str:
    """Return the address that a record is of.

    Raises:
        BadRecordError: it names none that can be asked for.
    """
    url = storable(target_of(record))
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 -- raises where it is no number
        is_address = "://" in parts.geturl()
    except ValueError:
        is_address = False
    if not is_address:
        raise BadRecordError(f"WARC-Target-URI {url[:200]!r} is no address")
    return url


def _time_of(date: str | None) -> datetime | None:
    for form in _TIMES:
        try:
            return datetime.strptime(date or "", form).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None
