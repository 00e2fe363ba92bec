"""How long hosts are left alone, how fast they are asked and what they forbid, by numbers and a clock of the test."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import pytest
from scrapy import Request, signals
from scrapy.core.downloader import Slot
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawler.politeness.hosts import (
    FASTER_AFTER,
    Hosts,
    host_of,
    is_this_machine,
    pause_seconds,
    read_retry_after,
    slower,
)
from crawler.politeness.pausing import Pace
from crawler.politeness.robots import MOST_BYTES, crawl_delay, decode, own_name, rules_for
from crawler.reasons import is_mended_by_time


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hosts(clock: Clock) -> Hosts:
    return Hosts(600, lambda host: 1.0, clock, lambda: 0.5)


def test_host_that_fails_is_paused_and_no_other(hosts: Hosts, clock: Clock) -> None:
    hosts.note_failure("a", "http 503")
    assert (hosts.resting, hosts.pauses) == ({"a"}, {"a": 1.0})
    clock.now += 1.0
    assert (hosts.resting, hosts.pauses) == (set(), {})


def test_a_clock_that_is_set_changes_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Hosts(600, lambda host: 1.0)
    hosts.note_failure("a", "http 503", 60.0)
    before = hosts.pauses["a"]
    for moment in (time.time() - 3600, time.time() + 86_400):
        monkeypatch.setattr("time.time", lambda moment=moment: moment)
        assert before - 1 < hosts.pauses["a"] <= before
        hosts.note_failure("a", "http 503")
        assert hosts.parked == {}


def test_pauses_grow_until_a_page_is_served(hosts: Hosts, clock: Clock) -> None:
    lengths = []
    for _ in range(3):
        hosts.note_failure("a", "http 503")
        lengths.append(hosts.pauses["a"])
        clock.now += lengths[-1]
        hosts.note_answer("a", 0.0, is_page=False)  # of robots.txt, which may come from elsewhere
    hosts.note_answer("a", 0.0, is_page=True)
    hosts.note_failure("a", "http 503")
    assert (lengths, hosts.pauses["a"]) == ([1.0, 2.0, 4.0], 1.0)


def test_what_was_under_way_neither_ends_a_pause_nor_makes_the_next_one_longer(hosts: Hosts, clock: Clock) -> None:
    for _ in range(8):
        hosts.note_failure("a", "http 429")
    clock.now += 1.0
    hosts.note_answer("a", 5.0, is_page=True)
    hosts.note_failure("a", "http 429")
    assert hosts.pauses == {"a": 2.0}


def test_longest_retry_after_of_those_under_way_counts(hosts: Hosts) -> None:
    for seconds in (5.0, 60.0, None, 10.0):
        hosts.note_failure("a", "http 429", seconds)
    assert 60 <= hosts.pauses["a"] < 61


def test_host_that_fails_for_long_is_parked_with_the_reason(hosts: Hosts, clock: Clock) -> None:
    while not hosts.parked:
        hosts.note_failure("a", "http 503")
        clock.now += hosts.pauses.get("a", 0.0)
        assert clock.now < 1_700
    assert clock.now >= 1_600
    assert (hosts.parked, hosts.resting) == ({"a": "http 503"}, {"a"})


def test_a_bad_page_among_others_that_are_served_neither_pauses_nor_parks_its_host(hosts: Hosts, clock: Clock) -> None:
    for _ in range(1_000):
        assert not hosts.note_failure("a", "timed out", is_of_page=True)
        clock.now += 1.0
        hosts.note_answer("a", 0.0, is_page=True)
    assert not hosts.resting


def test_three_pages_in_a_row_say_as_much_as_one_answer_that_speaks_of_the_host(hosts: Hosts, clock: Clock) -> None:
    lengths = []
    for _ in range(3):
        assert [hosts.note_failure("a", "timed out", is_of_page=True) for _ in range(3)] == [False, False, True]
        lengths.append(hosts.pauses["a"])
        clock.now += lengths[-1]
    hosts.note_failure("a", "http 503")
    assert (lengths, hosts.pauses["a"]) == ([1.0, 2.0, 4.0], 8.0)


def test_host_that_has_never_answered_is_not_waited_for(hosts: Hosts) -> None:
    hosts.note_failure("a", "connection refused", answers=False)
    hosts.note_answer("b", 0.0, is_page=False)
    hosts.note_failure("b", "connection refused", answers=False)
    assert (set(hosts.parked), set(hosts.pauses)) == ({"a"}, {"b"})


def test_host_teaches_how_fast_it_may_be_asked(hosts: Hosts) -> None:
    hosts.note_answer("a", 0.0, is_page=True)
    hosts.slow_down("a", 3.0)
    assert (hosts.least_delay("a"), hosts.least_delay("b")) == (6.0, 1.0)
    hosts.slow_down("a", 3.0)  # it has served nothing since
    for _ in range(FASTER_AFTER):
        assert hosts.least_delay("a") == 6.0
        hosts.note_answer("a", 0.0, is_page=True)
    assert 1.0 < hosts.least_delay("a") < 6.0


def test_unchanged_pages_let_a_host_be_asked_faster_and_errors_do_not() -> None:
    crawler = get_crawler(settings_dict={"AUTOTHROTTLE_ENABLED": True, "EXTENSIONS_BASE": {}})
    slot = Slot(1, 8.0, 0.0)
    crawler.engine = SimpleNamespace(downloader=SimpleNamespace(slots={"a.example": slot}))  # type: ignore[assignment]
    pace = Pace.from_crawler(crawler)  # which signals alone would let go
    crawler.signals.send_catch_log(signals.spider_opened, spider=crawler._create_spider("a"))
    delays = []
    for status in (404, 304, 200):
        request = Request("https://a.example/", meta={"download_slot": "a.example", "download_latency": 0.5})
        response = Response(request.url, status, request=request)
        crawler.signals.send_catch_log(signals.response_downloaded, response=response, request=request, spider=None)
        delays.append(slot.delay)
    assert (pace.crawler, delays[0]) == (crawler, 8.0)
    assert delays[0] > delays[1] > delays[2]


def test_greatest_of_all_delays_holds(hosts: Hosts) -> None:
    hosts["a"].crawl_delay = 5.0
    hosts["a"].learnt = hosts["b"].learnt = 3.0
    assert (hosts.least_delay("a"), hosts.least_delay("b")) == (5.0, 3.0)


NOW = 1_772_438_400.0  # Mon, 02 Mar 2026 08:00:00 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Mon, 02 Mar 2026 08:00:30 GMT", 30.0),
        ("Monday, 02-Mar-26 08:00:30 GMT", 30.0),
        ("Mon Mar  2 08:00:30 2026", 30.0),
        ("Mon, 02 Mar 2026 07:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("\u0661\u0662", None),
        ("Mon, 99 Mar 2026 08:00:30 GMT", None),
        ("Mon, 02 Mar 99999999999 08:00:30 GMT", None),
        (f"Mon, 02 Mar 2026 {'9' * 400}:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert read_retry_after(value, NOW) == seconds


def test_pauses_double_up_to_a_tenth_of_all_patience_and_not_all_come_back_at_once() -> None:
    pauses = [pause_seconds(600, number, None, 0.5) for number in (*range(1, 9), 10_000)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert {pause_seconds(600, 3, None, chance) for chance in (0.0, 0.5, 1.0)} == {3.0, 4.0, 5.0}


def test_host_waits_as_long_as_it_asks_for_up_to_half_of_all_patience() -> None:
    assert pause_seconds(600, 1, 30, 0.0) == 30
    assert 30 < pause_seconds(600, 1, 30, 1.0) < 31
    # One that refuses again after the time it has named.
    assert pause_seconds(600, 6, 1, 0.5) == 32
    assert pause_seconds(600, 1, 0, 0.5) == 1
    assert pause_seconds(600, 1, 1e9, 0.0) == 300


def test_delay_doubles_within_bounds() -> None:
    assert [slower(delay) for delay in (0.0, 0.01, 0.5, 1000.0)] == [0.1, 0.1, 1.0, 10.0]


HERE = "localhost demo.localhost:8000 127.0.0.1 127.0.0.2:1 [::1] [::1]:8000"
ELSEWHERE = "127.0.0.1.example.com localhost.example.com:80 notlocalhost 192.168.0.1 [::2]:8000"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://me:secret@Example.com:80/a", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://example.com:/", "example.com"),
        ("http://example.com:8000/", "example.com:8000"),
        ("http://[::1]:8000/a:80", "[::1]:8000"),
    ],
)
def test_another_port_is_another_host(url: str, host: str) -> None:
    assert host_of(Request(url)) == host


def test_this_machine_is_told_by_its_names() -> None:
    assert [host for host in HERE.split() if not is_this_machine(host)] == []
    assert [host for host in (*ELSEWHERE.split(), "") if is_this_machine(host)] == []


# robots.txt


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("neardup/0.1 (+you@example.com)", "neardup"),
        ("House-Bot (+https://example.com/bot)", "house-bot"),
        ("Mozilla/5.0 (compatible; Foobot/2.1; +https://foo.example)", "foobot"),
        ("neardup", "neardup"),
        ("", ""),
    ],
)
def test_own_name_is_the_first_word_of_the_user_agent(user_agent: str, name: str) -> None:
    assert own_name(user_agent) == name


def test_only_groups_for_this_crawler_and_for_all_are_kept() -> None:
    own = "User-agent: near\nuser-agent : NearDup/1.0 # us\r\nSitemap: /s\n\nUSER AGENT example\nDisallow: /a\n"
    text = f"Disallow: /0\n{own}User-agent: other\nDisallow: /b\nSitemap: /t\nUseragent *\nuser-agent: a*\nDisallow: /c"
    kept = "User-agent: neardup|Sitemap: /s||Disallow: /a|Sitemap: /t|User-agent: *|Disallow: /c"
    assert rules_for(text, "neardup").split("\n") == kept.split("|")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_is_read_whatever_it_is_saved_as(encoding: str) -> None:
    text = "User-agent: *\nDisallow: /zpr\u00e1vy\n"
    assert decode(text.encode(encoding)).lstrip("\ufeff") == text


def test_only_the_beginning_of_an_endless_text_is_read() -> None:
    assert decode(b"User-agent: *\0\nDisallow: /\0x") == "User-agent: *\nDisallow: /x"
    assert len(decode(b"#" * (2 * MOST_BYTES))) == MOST_BYTES


def test_what_fails_for_now_forbids_and_what_is_missing_allows() -> None:
    assert [status for status in (200, 401, 403, 404, 429, 500, 503) if is_mended_by_time(status)] == [429, 500, 503]


@pytest.mark.parametrize(
    ("asked_for", "seconds"), [(None, 0), (0.0, 0), (-1.0, 0), (2.5, 2.5), (600.0, 30), (math.inf, 30), (math.nan, 0)]
)
def test_crawl_delay_has_a_limit(asked_for: float | None, seconds: float) -> None:
    assert crawl_delay(asked_for) == seconds
