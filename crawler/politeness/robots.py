"""robots.txt: fetched before anything else of a host, and obeyed by RFC 9309."""

from __future__ import annotations

import asyncio
import codecs
import gc
import logging
import re
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler

from crawler.politeness.hosts import Hosts, host_of, retry_after
from crawler.politeness.inner_addresses import InnerAddressError
from crawler.reasons import ROBOTS_TXT as ROBOTS_TXT_REASON
from crawler.reasons import Refused, is_away, is_mended_by_time, reason_of
from crawler.request_meta import ROBOTS_TXT
from crawler.scrapy_private import robots_parser_of
from dedup.console import plain

logger = logging.getLogger(__name__)

MOST_BYTES = 512 * 1024
"""More of a robots.txt is not read."""

MOST_CRAWL_DELAY = 30.0
"""Seconds; a host that asks for more between two requests gets so many."""

_TOKEN = re.compile("[a-z0-9_-]+", re.IGNORECASE)
_COMPATIBLE = re.compile(r"compatible;\s*([a-z0-9_-]+)", re.IGNORECASE)
_AGENT = re.compile(r"\s*user[- ]?agent[\s:]\s*:?\s*([^\s#]*)", re.IGNORECASE)
_OF_ALL = re.compile(r"\s*(?:sitemaps?|site-map|host)\b", re.IGNORECASE)

MOST_KEPT_BYTES = 4 << 20
"""Of the rules of all hosts so many are kept, those that were used last; in memory a byte takes up to forty."""

_OF_ONE_HOST = 200
_IN_A_MOMENT = 16_384
"""Bytes; longer rules are read and looked through in a thread."""

_A_DAY = 86_400.0

T = TypeVar("T")


def own_name(user_agent: str) -> str:
    """Return the name by which a robots.txt knows a crawler: "neardup" of "neardup/0.1 (+mail@example.com)"."""
    found = _COMPATIBLE.search(user_agent)
    token = _TOKEN.search(user_agent)
    return (found[1] if found else token[0] if token else "").lower()


def decode(body: bytes) -> str:
    """Return a robots.txt as text: UTF-8, as it should be, or UTF-16, as some are saved."""
    body = body[:MOST_BYTES]
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", errors="ignore")
    head = body[:64]
    if head[1::2].count(0) > len(head) // 4:
        return body.decode("utf-16-le", errors="ignore")
    if head[::2].count(0) > len(head) // 4:
        return body.decode("utf-16-be", errors="ignore")
    return body.decode("utf-8-sig", errors="ignore").replace("\0", "")


def rules_for(text: str, name: str) -> str:
    """Return the groups of a robots.txt for a crawler or for all, and the lines that belong to no group.

    A parser would take "near", or an address in the user agent, for the name of this one.

    Args:
        text: of the robots.txt.
        name: see `own_name`.
    """
    kept = []
    is_own = was_agent = False
    for line in text.splitlines():
        agent = _AGENT.match(line)
        if agent is not None:
            token = _TOKEN.match(agent[1])
            own = name if token is not None and token[0].lower() == name else "*" if agent[1] == "*" else ""
            is_own = bool(own) or (is_own and was_agent)
            if own:
                kept.append(f"User-agent: {own}")
        elif is_own or _OF_ALL.match(line):
            kept.append(line)
        is_of_none = not line.partition("#")[0].strip() or _OF_ALL.match(line)
        was_agent = agent is not None or (was_agent and bool(is_of_none))
    return "\n".join(kept)


def crawl_delay(requested: float | None) -> float:
    """Return the seconds between two requests that a host gets of those that it asks for."""
    # What is no number is not less than anything.
    return min(requested, MOST_CRAWL_DELAY) if requested is not None and requested > 0 else 0.0


class RobotsUnreachableError(Refused):
    """What a host forbids is not known now, so that it forbids everything.

    Attributes:
        why: what happened, in a few words; that a host is away says enough without robots.txt.
        status: what it has answered; None if it has not.
        requested: the seconds for which it has asked to be left alone.
    """

    def __init__(self, reason: str, why: str, status: int | None = None, requested: float | None = None) -> None:
        super().__init__(reason, f"robots.txt cannot be read ({why})")
        self.why = why
        self.status = status
        self.requested = requested


class _Rules(NamedTuple):
    parser: RobotParser
    size: int


class _Fetched(NamedTuple):
    rules: asyncio.Task[_Rules]
    asked: float


class ObeyedRobotsMiddleware(RobotsTxtMiddleware):
    """Downloader middleware in the place of Scrapy's, by RFC 9309.

    - Every request of a host waits for its robots.txt. Redirects of that are followed, to other hosts, too, and to a
      robots.txt at another port. Of a large one `MOST_BYTES` are read, as they are unpacked.
    - While it is answered by 5xx or 429, or not at all, all of the host is forbidden: its requests fail with
      `RobotsUnreachableError`, and the next one asks again. By any other error there is none, and all is allowed.
    - It is fetched again after a day, and after each pause of its host: that tells whether the host is back.
    - A group is for this crawler if it has its name (`ROBOTSTXT_USER_AGENT`, else that of the user agent).
    - `Crawl-delay` is obeyed, see `Hosts`.
    - The rules of the hosts that were asked last are kept, `MOST_KEPT_BYTES` of them; of others they are fetched again.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self.bytes_received, signals.bytes_received)
        self._received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._hosts = Hosts.of(crawler)
        # The one that was used last is last.
        self._fetched: dict[str, _Fetched] = {}
        self._kept_bytes = 0
        self._forgotten_bytes = 0
        self._one_at_a_time = asyncio.Lock()

    def bytes_received(self, data: bytes, request: Request) -> None:
        """Handle the signal.

        Raises:
            StopDownload: of a robots.txt as much has come as is read.
        """
        if most := request.meta.get(ROBOTS_TXT):
            self._received[request] = self._received.get(request, 0) + len(data)
            if self._received[request] >= most:
                raise StopDownload(fail=False)

    async def process_request(self, request: Request, spider: Spider | None = None) -> None:
        if request.meta.get("dont_obey_robotstxt") or urlparse_cached(request).scheme not in ("http", "https"):
            return
        rules = await self._rules_of(request)
        allowed = partial(rules.parser.allowed, request.url, self._name(request))
        if not await self._off_the_loop(allowed, rules.size):
            self._stats.inc_value("robotstxt/forbidden")
            raise Refused(ROBOTS_TXT_REASON)

    async def _rules_of(self, request: Request) -> _Rules:
        url = urlparse_cached(request)
        origin = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
        fetched = self._fetched.pop(origin, None)
        if fetched is None or (fetched.rules.done() and self._is_old(fetched.asked, host_of(request))):
            self._forget(fetched)
            fetched = _Fetched(asyncio.create_task(self._fetch(origin, request)), time.monotonic())
        self._fetched[origin] = fetched
        try:
            # Others wait for it, too.
            return await asyncio.shield(fetched.rules)
        except IgnoreRequest:
            if self._fetched.get(origin) is fetched:
                del self._fetched[origin]
            raise

    def _is_old(self, asked: float, host: str) -> bool:
        now, paused_until = time.monotonic(), self._hosts[host].paused_until
        # What was under way when a host was paused asks for nothing more.
        return asked < now - _A_DAY or asked < paused_until <= now

    async def _off_the_loop(self, function: Callable[[], T], size: int) -> T:
        """Call a function, in a thread if what it goes through is long."""
        if size <= _IN_A_MOMENT:
            return function()
        async with self._one_at_a_time:
            return await asyncio.to_thread(function)

    def _keep(self, rules: _Rules) -> _Rules:
        """Count rules that were read, and forget others that are too much."""
        self._kept_bytes += rules.size
        for origin, fetched in list(self._fetched.items()):
            if self._kept_bytes <= MOST_KEPT_BYTES:
                break
            if fetched.rules.done():
                self._forget(self._fetched.pop(origin))
        return rules

    def _forget(self, fetched: _Fetched | None) -> None:
        if fetched is None or fetched.rules.cancelled() or fetched.rules.exception():
            return
        size = fetched.rules.result().size
        self._kept_bytes -= size
        self._forgotten_bytes += size
        if self._forgotten_bytes > MOST_KEPT_BYTES:
            # A parser and its groups hold each other.
            gc.collect()
            self._forgotten_bytes = 0

    async def _fetch(self, origin: str, request: Request) -> _Rules:
        """Return the rules of a host.

        Args:
            origin: its scheme, name and port.
            request: the first one that waits for them.

        Raises:
            RobotsUnreachableError: they are not known now.
            IgnoreRequest: they cannot even be asked for.
        """
        # Without a limit of Scrapy's own: a larger one is read as far as `MOST_BYTES`.
        meta = {"dont_obey_robotstxt": True, "allow_offsite": True, "download_maxsize": 0, ROBOTS_TXT: MOST_BYTES}
        asking = Request(f"{origin}/robots.txt", priority=self.DOWNLOAD_PRIORITY, meta=meta, callback=NO_CALLBACK)
        self._stats.inc_value("robotstxt/request_count")
        body = b""
        try:
            response = await self.crawler.engine.download_async(asking)
        except InnerAddressError:
            raise
        except IgnoreRequest as error:  # as for redirects without an end
            logger.info("%s/robots.txt is taken for empty: %s", plain(origin), error)
        except Exception as error:  # whatever it is, what is not known is not allowed
            self._stats.inc_value(f"robotstxt/exception_count/{type(error)}")
            if not is_away(error):
                raise Refused(*reason_of(error)) from error
            reason, _ = reason_of(error)
            raise RobotsUnreachableError(reason, reason.replace("_", " ")) from error
        else:
            self._stats.inc_value("robotstxt/response_count")
            self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
            if is_mended_by_time(response.status):  # other errors mean that there is none
                why = f"robots.txt: http {response.status}"
                raise RobotsUnreachableError(ROBOTS_TXT_REASON, why, response.status, retry_after(response))
            body = response.body if 200 <= response.status < 300 else b""
        name = self._name(request)
        text = rules_for(decode(body), name).encode()
        parse = partial(build_from_crawler, robots_parser_of(self), self.crawler, text)
        parser: RobotParser = await self._off_the_loop(parse, len(text))
        await self.crawler.signals.send_catch_log_async(signals.robots_parsed, robotparser=parser, request=request)
        self._note_delay(request, parser.crawl_delay(name))
        return self._keep(_Rules(parser, len(text) + _OF_ONE_HOST))

    def _note_delay(self, request: Request, requested: float | None) -> None:
        host, seconds = host_of(request), crawl_delay(requested)
        if seconds and seconds != self._hosts[host].crawl_delay:
            message = "%s asks for %g s between two requests (Crawl-delay)"
            if requested == seconds:
                logger.info(message, plain(host), requested)
            else:
                logger.warning(f"{message}; it gets %g", plain(host), requested, seconds)
        self._hosts[host].crawl_delay = seconds

    def _name(self, request: Request) -> str:
        agent = self._robotstxt_useragent or (request.headers.get("User-Agent") or b"").decode("latin-1")
        return own_name(agent or self._default_useragent)
