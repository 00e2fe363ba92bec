"""robots.txt: fetched before anything else of a host, and obeyed by RFC 9309."""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
import time
from typing import NamedTuple

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler

from crawler.page import ROBOTS_UNKNOWN, is_away, is_mended_by_time, reason_of
from crawler.politeness.hosts import Hosts, asked_to_wait, host_of
from crawler.politeness.inner_addresses import InnerAddressError
from dedup.console import plain

logger = logging.getLogger(__name__)

MOST_BYTES = 512 * 1024
"""More of a robots.txt is not read."""

MOST_CRAWL_DELAY = 30.0
"""Seconds; a host that asks for more between two requests gets so many."""

_TOKEN = re.compile("[a-z0-9_-]+", re.IGNORECASE)
_COMPATIBLE = re.compile(r"compatible;\s*([a-z0-9_-]+)", re.IGNORECASE)
_AGENT = re.compile(r"^([ \t]*user[- ]?agent[ \t]*:[ \t]*)([^\s#]*)[^\r\n]*", re.IGNORECASE | re.MULTILINE)
# No name of a crawler has it in it.
_NOBODY = "?"


_A_DAY = 86_400.0


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
    return body.decode("utf-8-sig", errors="ignore")


def rules_for(text: str, name: str) -> str:
    """Return a robots.txt whose groups for other crawlers are nobody's.

    A parser would take "near", or an address in the user agent, for the name of this one.

    Args:
        text: of the robots.txt.
        name: see `own_name`.
    """

    def rename(line: re.Match[str]) -> str:
        token = _TOKEN.match(line[2])
        is_own = token is not None and token[0].lower() == name
        return line[1] + (name if is_own else "*" if line[2] == "*" else _NOBODY)

    return _AGENT.sub(rename, text)


def crawl_delay(asked_for: float | None) -> float:
    """Return the seconds between two requests that a host gets of those that it asks for."""
    # What is no number is not less than anything.
    return min(asked_for, MOST_CRAWL_DELAY) if asked_for is not None and asked_for > 0 else 0.0


class RobotsUnreachableError(IgnoreRequest):
    """What a host forbids is not known now, so that it forbids everything.

    Attributes:
        why: what happened, in a few words; that a host is away says enough without robots.txt.
        status: what it has answered; None if it has not.
        asked_for: the seconds for which it has asked to be left alone.
    """

    def __init__(self, why: str, status: int | None = None, asked_for: float | None = None) -> None:
        super().__init__(f"{ROBOTS_UNKNOWN} be read ({why})")
        self.why = why
        self.status = status
        self.asked_for = asked_for


class _Fetched(NamedTuple):
    rules: asyncio.Task[RobotParser]
    asked: float


class ObeyedRobotsMiddleware(RobotsTxtMiddleware):
    """Downloader middleware in the place of Scrapy's, by RFC 9309.

    - Every request of a host waits for its robots.txt. Redirects of that are followed, to other hosts, too.
    - While it is answered by 5xx or 429, or not at all, all of the host is forbidden: its requests fail with
      `RobotsUnreachableError`, and the next one asks again. By any other error there is none, and all is allowed.
    - It is fetched again after a day, and after each pause of its host: that tells whether the host is back.
    - A group is for this crawler if it has its name (`ROBOTSTXT_USER_AGENT`, else that of the user agent).
    - `Crawl-delay` is obeyed, see `Hosts`.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._hosts = Hosts.of(crawler)
        self._fetched: dict[str, _Fetched] = {}

    async def process_request(self, request: Request, spider: Spider | None = None) -> None:
        if request.meta.get("dont_obey_robotstxt") or urlparse_cached(request).scheme not in ("http", "https"):
            return
        rules = await self._rules_of(request)
        if not rules.allowed(request.url, self._name(request)):
            self._stats.inc_value("robotstxt/forbidden")
            raise IgnoreRequest("Forbidden by robots.txt")

    async def _rules_of(self, request: Request) -> RobotParser:
        url = urlparse_cached(request)
        origin = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
        fetched = self._fetched.get(origin)
        latest = max(time.time() - _A_DAY, self._hosts[host_of(request)].paused_until)
        if fetched is None or (fetched.rules.done() and fetched.asked < latest):
            fetched = self._fetched[origin] = _Fetched(asyncio.create_task(self._fetch(origin, request)), time.time())
        try:
            # Others wait for it, too.
            return await asyncio.shield(fetched.rules)
        except IgnoreRequest:
            if self._fetched.get(origin) is fetched:
                del self._fetched[origin]
            raise

    async def _fetch(self, origin: str, request: Request) -> RobotParser:
        """Return the rules of a host.

        Args:
            origin: its scheme, name and port.
            request: the first one that waits for them.

        Raises:
            RobotsUnreachableError: they are not known now.
            IgnoreRequest: they cannot even be asked for.
        """
        meta = {"dont_obey_robotstxt": True, "allow_offsite": True}
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
                raise IgnoreRequest(f"{ROBOTS_UNKNOWN} be asked for") from error
            raise RobotsUnreachableError(reason_of(error)[0].replace("_", " ")) from error
        else:
            self._stats.inc_value("robotstxt/response_count")
            self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
            if is_mended_by_time(response.status):  # other errors mean that there is none
                why = f"robots.txt: http {response.status}"
                raise RobotsUnreachableError(why, response.status, asked_to_wait(response))
            body = response.body if 200 <= response.status < 300 else b""
        name = self._name(request)
        rules: RobotParser = build_from_crawler(self._parserimpl, self.crawler, rules_for(decode(body), name).encode())
        await self.crawler.signals.send_catch_log_async(signals.robots_parsed, robotparser=rules, request=request)
        self._note_delay(request, rules.crawl_delay(name))
        return rules

    def _note_delay(self, request: Request, asked_for: float | None) -> None:
        host, seconds = host_of(request), crawl_delay(asked_for)
        if seconds and seconds != self._hosts[host].crawl_delay:
            told = "%s asks for %g s between two requests (Crawl-delay)"
            if asked_for == seconds:
                logger.info(told, plain(host), asked_for)
            else:
                logger.warning(f"{told}; it gets %g", plain(host), asked_for, seconds)
        self._hosts[host].crawl_delay = seconds

    def _name(self, request: Request) -> str:
        agent = self._robotstxt_useragent or (request.headers.get("User-Agent") or b"").decode("latin-1")
        return own_name(agent or self._default_useragent)
