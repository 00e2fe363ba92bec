"""Pages that are answered with 200 and hold no content: made-up addresses, and walls."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from crawler.pages.extraction import Extraction
from dedup.console import plain

logger = logging.getLogger(__name__)

NOT_FOUND = "not_found"
"""The reason for which a page is skipped that is answered like an address that nobody has."""

MAYBE_GONE = "maybe_gone"
"""The same of a page that was one at an earlier visit: it stays as it was then, since its site may be down."""

_NEAR = 0.8
_NEAR_TITLE = 0.5
# A wall says little else, and one page of it may be what a site has to say.
_LONGEST_WALL = 960
_MANY = 3
# Characters; what says more is no error.
_LONGEST_ANSWER = 8_192
_PROBED_AGAIN_SECONDS = 60.0
# Of so many hosts answers are kept; others are asked once more.
_MOST_HOSTS = 5_000
_WALLS = {
    "asks_for_cookies": re.compile(
        r"(?:enable|activate|allow|accept)\w*\s+(?:\w+\s+)?cookies|cookies\s+(?:\w+\s+){0,2}(?:disabled|enabled|required)"
        r"|cookies\s+aktivier|activ\w+\s+les\s+cookies|(?:habilit|activ)\w+\s+(?:las\s+)?cookies|启用\s*cookie|cookieを有効",
        re.IGNORECASE,
    ),
    "asks_whether_human": re.compile(
        r"(?:are|that)\s+you(?:\s+are|'re)?\s+(?:not\s+)?(?:a\s+)?(?:human|robot|bot)\b|checking\s+your\s+browser|captcha"
        r"|unusual\s+traffic|not\s+a\s+robot|kein\s+roboter|人机验证|验证码|ロボットではありません",
        re.IGNORECASE,
    ),
    "asks_to_log_in": re.compile(
        r"(?:log|sign)\s?-?in\s+(?:to|first)|(?:must|need\s+to|have\s+to)\s+(?:be\s+)?(?:logged|log|signed|sign)\s?-?in"
        r"|login\s+required|anmelden,?\s+um|connectez-vous|inici\w+\s+sesi|请先?登录|ログインしてください",
        re.IGNORECASE,
    ),
}
_NOTHING_THERE = re.compile(
    r"\b(?:404|410)\b|\b(?:not|nothing|cannot\s+be|couldn.t\s+be|can.t\s+be|no\s+longer)\s+(?:\w+\s+)?(?:found|there|here|"
    r"available|exists?)\b|\bnot\s+here\b|do(?:es)?(?:\s+not|n.t)\s+exist|(?:can|could)(?:\s?not|n.t)\s+(?:be\s+)?f(?:ind|ound)"
    r"|nicht\s+(?:\w+\s+)?(?:gefunden|vorhanden|verfügbar)|introuvable|n.existe\s+(?:pas|plus)|no\s+(?:se\s+)?(?:\w+\s+)?"
    r"(?:encontr|exist)|não\s+(?:foi\s+)?(?:encontr|exist)|non\s+(?:è\s+stata\s+)?(?:trovat|esist)|niet\s+gevonden"
    r"|не\s+(?:найден|существует)|nie\s+(?:znaleziono|istnieje)|hittades\s+inte|bulunamad|找不到|不存在|未找到|已删除|見つかりません"
    r"|찾을\s*수\s*없",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def words_of(text: str) -> set[str]:
    """Return the words and numbers of a text in lower case; of scripts without spaces the characters."""
    return set(_WORD.findall(text.lower()))


def without_numbers(words: Collection[str]) -> set[str]:
    """Return the words that are no numbers."""
    return {word for word in words if not word.isdecimal()}


def is_near(left: set[str], right: set[str], least: float) -> bool:
    """Return whether two sets of words have at least a share of their union in common; two empty ones do."""
    return len(left & right) >= least * len(left | right)


class _Answer(NamedTuple):
    """What a host says of a made-up address.

    Attributes:
        words: those of its text, between spaces, which take a tenth of the memory of a set.
        title: those of its title.
        url: the address at which that stands.
        is_elsewhere: whether that is another one than was asked for: it has redirected.
        says_so: whether it says that there is nothing; else it may be a page that is shown for want of another.
    """

    words: str
    title: str
    url: str
    is_elsewhere: bool
    says_so: bool

    def is_like(self, text: set[str], title: set[str], least: float) -> bool:
        """Return whether the words of a page are near it, by a share of those of both texts."""
        return is_near(text, set(self.words.split()), least) and is_near(title, set(self.title.split()), _NEAR_TITLE)


class _Probed(NamedTuple):
    answer: asyncio.Task[_Answer | None]
    at: float


class SoftErrors:
    """Tells what a host says where it has nothing to say.

    - Each host is asked once for an address that was made up (a soft 404 is what answers that with 200, as in
      Bar-Yossef, Broder, Kumar, Tomkins, "Sic transit gloria telae", WWW 2004, section 4). What is near the answer in
      text and title, but for the words of its address and numbers, is not found. Never is what a start URL leads to,
      nor the page at the address that the made-up one has redirected to; nor, where that has redirected, what has not.
      Where the answer does not say that there is nothing, the first page that has its text is taken for the page that
      the host shows for want of another.
    - Where there was a page at an earlier visit and is a short text now, the host is asked anew, once a minute: since
      the last time it may have gone down for maintenance.
    - A short text that asks for cookies, for a login, or whether one is human is named for that where many addresses
      have it.

    Args:
        crawler: the crawl.
        extract: takes text and title from a response.
        starts: the start URLs.
        probes: whether made-up addresses may be asked for.
    """

    def __init__(
        self,
        crawler: Crawler,
        extract: Callable[[HtmlResponse], Coroutine[None, None, Extraction]],
        starts: Collection[str],
        *,
        probes: bool,
    ) -> None:
        self._crawler = crawler
        self._extract = extract
        self._starts = frozenset(starts)
        self._probes = probes
        self._probed: LocalCache[str, _Probed] = LocalCache(_MOST_HOSTS)
        self._shown: LocalCache[str, None] = LocalCache(_MOST_HOSTS)
        self._walls: Counter[tuple[str, bytes]] = Counter()
        self._gone: Counter[str] = Counter()

    async def reason(self, response: Response, extraction: Extraction, *, was_page: bool) -> str | None:
        """Return why a page is no content, in one word as for `skip`; None if it may be some.

        Args:
            response: the page.
            extraction: what was found in it.
            was_page: whether an earlier crawl found a page there.
        """
        led_here = [] if response.request is None else response.request.meta.get("redirect_urls", [])
        is_start = not self._starts.isdisjoint([response.url, *led_here])
        if extraction.text is None or extraction.signature is None or is_start:
            return None
        host = urlsplit(response.url).netloc
        answer = await self._answer_of(response, again=was_page and len(extraction.text) <= _LONGEST_WALL)
        # Who redirects made-up addresses answers those it has a page for without.
        if answer is not None and (led_here or not answer.is_elsewhere):
            words, title = _besides_address(extraction, response.url)
            is_answer = answer.is_like(words, title, _NEAR)
            if is_answer and was_page:
                return self._count_gone(host)
            if is_answer and response.url != answer.url and (answer.says_so or self._is_again(answer, words, title)):
                return NOT_FOUND
        return self._wall(host, extraction.text, extraction.signature.text_digest, 1 if was_page else _MANY)

    def _is_again(self, answer: _Answer, text: set[str], title: set[str]) -> bool:
        """Return whether a page has the words of an answer, and is not the first one; what is only near may be any."""
        if not answer.is_like(text, title, 1.0):
            return False
        origin = _origin_of(answer.url)
        was_shown = origin in self._shown
        self._shown[origin] = None
        return was_shown

    def _count_gone(self, host: str) -> str:
        self._gone[host] += 1
        if self._gone[host] == _MANY:
            message = "%s answers like made-up addresses where it had pages: they stay as they were, is it down?"
            logger.warning(message, plain(host))
        return MAYBE_GONE

    def _wall(self, host: str, text: str, text_digest: bytes | None, many: int) -> str | None:
        if text_digest is None or len(text) > _LONGEST_WALL:
            return None
        found = next((reason for reason, pattern in _WALLS.items() if pattern.search(text)), None)
        if found is None:
            return None
        self._walls[host, text_digest] += 1
        times = self._walls[host, text_digest]
        if times == _MANY:
            logger.warning("%s %s at many addresses: these are skipped", plain(host), found.replace("_", " "))
        return found if times >= many else None

    async def _answer_of(self, response: Response, *, again: bool) -> _Answer | None:
        if not self._probes:
            return None
        origin = _origin_of(response.url)
        probed = self._probed.get(origin)
        if probed is None or (again and time.monotonic() > probed.at + _PROBED_AGAIN_SECONDS):
            answer = asyncio.create_task(self._probe(origin, secrets.token_hex(8)))
            probed = self._probed[origin] = _Probed(answer, time.monotonic())
        return await asyncio.shield(probed.answer)

    async def _probe(self, origin: str, name: str) -> _Answer | None:
        url = f"{origin}/{name}"
        request = Request(url, callback=NO_CALLBACK, meta={"dont_retry": True}, dont_filter=True)
        self._crawler.stats.inc_value("crawler/made_up_asked")
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:  # whatever it is, a page is only taken for an error that is known to be one
            level = logging.DEBUG if isinstance(error, IgnoreRequest) else logging.INFO
            logger.log(level, "what %s says of missing pages is not known: %s", plain(url), type(error).__name__)
            return None
        if response.status != 200 or not isinstance(response, HtmlResponse):
            return None
        extraction = await self._extract(response)
        # None also where it leads elsewhere at once.
        if extraction.text is None or extraction.is_shell or len(extraction.text) > _LONGEST_ANSWER:
            return None
        logger.info(
            "%s answers made-up addresses with 200: what is like that is not found", plain(urlsplit(url).netloc)
        )
        words, title = map(" ".join, _besides_address(extraction, f"{url} {response.url}"))
        is_elsewhere, says_so = name not in urlsplit(response.url).path, _says_so(extraction, name)
        return _Answer(words, title, response.url, is_elsewhere, says_so)


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _says_so(extraction: Extraction, name: str) -> bool:
    """Return whether a page says that there is nothing at its address, or names that, which nobody else does."""
    text = extraction.text or ""
    said = f"{extraction.title}\n{text if len(text) <= _LONGEST_WALL else ''}"
    return name in text or _NOTHING_THERE.search(said) is not None


def _besides_address(extraction: Extraction, url: str) -> tuple[set[str], set[str]]:
    """Return the words of text and title that are no numbers and do not stand in the address."""
    text, title = (
        without_numbers(words_of(each) - words_of(url)) for each in (extraction.text or "", extraction.title)
    )
    return text, title
