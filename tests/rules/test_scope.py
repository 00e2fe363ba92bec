"""Duplicates are looked for everywhere, on the same host, or on the same registrable domain."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from dedup.rules.documents import Verdict
from dedup.rules.scope import Scope, Scopes, are_other_titles, owner_of
from dedup.signature.signature import digest, distance
from tests.crawling import crawl
from tests.deciding import Crawl
from tests.localsite import LocalSite, article
from tests.texts import document, edited

TEXT = document(120, "scope")
NEAR, EXACT, NEW = Verdict.NEAR_DUPLICATE, Verdict.EXACT_DUPLICATE, Verdict.NEW


@pytest.mark.parametrize(
    ("scope", "key", "expected"),
    [
        ("all", "https://a.example/x", ""),
        ("host", "https://News.Example/x", "news.example"),
        ("host", "http://news.example:8080/x", "news.example:8080"),
        ("host", "report.txt", ""),
        ("domain", "https://www.news.example.co.uk/x", "example.co.uk"),
        ("domain", "https://me@a.b.example.com:8080/x", "example.com"),
        ("domain", "https://alice.github.io/", "alice.github.io"),
        ("domain", "https://WWW.例子.中国/", "例子.中国"),
        ("domain", "http://127.0.0.1:8817/x", "127.0.0.1"),
        ("domain", "http://[::1]:80/x", "[::1]"),
        ("domain", "http://localhost/x", "localhost"),
        ("domain", "https://co.uk/", "co.uk"),
        ("domain", "report.txt", ""),
    ],
)
def test_what_the_keys_of_a_scope_have_in_common(scope: str, key: str, expected: str) -> None:
    assert Scopes(Scope(scope)).of(key) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("https://www.News.example/x", "news.example"),
        ("http://m.news.example:8080/x", "news.example:8080"),
        ("https://www.m.news.example/", "news.example"),
        ("https://shop.news.example/", "shop.news.example"),
        ("https://www.example/", "www.example"),
        ("http://m.localhost:80/", "m.localhost:80"),
        ("report.txt", ""),
    ],
)
def test_a_site_is_a_host_however_its_pages_for_phones_are_called(key: str, expected: str) -> None:
    assert owner_of(key) == expected


def test_domains_are_told_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something is fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Scopes(Scope.DOMAIN).of("https://shop.never-seen-before.com.au/") == "never-seen-before.com.au"


def test_distances_within_a_scope_are_those_of_the_fingerprints() -> None:
    scopes = Scopes(Scope.HOST)
    ours, other = scopes.mask("http://a.example/1"), scopes.mask("http://b.example/1")
    assert ours == scopes.mask("https://A.example/2")
    assert distance(ours ^ 5, ours ^ 6) == distance(5, 6)
    assert distance(ours, other) > 3
    assert Scopes(Scope.ALL).mask("http://a.example/1") == 0


@pytest.mark.parametrize(
    ("scope", "mirror", "other"), [("all", EXACT, NEAR), ("host", NEW, NEW), ("domain", EXACT, NEW)]
)
def test_copies_beyond_the_scope_are_kept(
    scope: str, mirror: Verdict, other: Verdict, start: Callable[..., Crawl]
) -> None:
    crawl = start(scope=scope)
    assert crawl.see("https://news.example.com/a", TEXT).verdict is NEW
    assert crawl.see("https://mirror.example.com/a", TEXT).verdict is mirror
    assert crawl.see("https://other.example.org/a", edited(TEXT, 2)).verdict is other
    assert crawl.see("https://news.example.com/b", edited(TEXT, 3)).verdict is NEAR
    assert crawl.see("https://news.example.com/c", TEXT).verdict is EXACT


def test_bytes_are_known_within_their_scope_alone(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="host")
    crawl.see("http://a.example/1", TEXT, b"page")
    assert crawl.see_all([crawl.document("http://b.example/1", None, b"page")]) == [None]
    assert crawl.see("http://a.example/2", None, b"page").verdict is EXACT
    ours, theirs = (crawl.deduplicator.scopes.mixed(f"http://{host}.example/3", digest(b"page")) for host in ("a", "b"))
    assert crawl.deduplicator.stored_bodies([ours, theirs]) == {ours}


@pytest.mark.parametrize("seed", range(2))
def test_each_scope_is_decided_as_if_it_had_a_database_of_its_own(
    seed: int, tmp_path: Path, start: Callable[..., Crawl]
) -> None:
    chance = Random(seed)
    together = start(scope="host")
    hosts = ["a.example", "b.example", "c.example"]
    alone = {host: Crawl(f"sqlite:///{tmp_path / host}.db") for host in hosts}
    base = [document(100, f"{seed} {number}") for number in range(3)]
    texts = [edited(text, edits, edits) if edits else text for text in base for edits in range(4)]
    for _ in range(60):
        host, text = chance.choice(hosts), chance.choice(texts)
        key = f"http://{host}/{chance.randrange(12)}"
        assert together.see(key, text) == alone[host].see(key, text)
    for each in alone.values():
        each.database.close()


def test_candidates_of_other_scopes_take_no_places(start: Callable[..., Crawl]) -> None:
    crawl = start(scope="host")
    crawl.see("http://ours.example/a", TEXT)
    copy = edited(TEXT, 4)
    for number in range(20):
        assert crawl.see(f"http://h{number}.example/a", copy).verdict is NEW
    assert crawl.see("http://ours.example/b", copy).verdict is NEAR


@pytest.mark.slow
def test_a_crawl_of_two_hosts_keeps_one_copy_of_each(tmp_path: Path) -> None:
    with LocalSite() as site:
        site.pages |= {
            "/": article("front", ["/story", "/story-copy", site.other_url + "/story"]),
            "/story": article("story", text=TEXT),
            "/story-copy": article("story", text=TEXT),
        }
        values = {"DEDUP_SCOPE": "host", "CONCURRENT_REQUESTS": 1}
        done = crawl(tmp_path / "crawl.db", values, url=f"{site.url}/", allowed_domains="127.0.0.1,localhost")
        assert {f"{site.url}/story", f"{site.other_url}/story"} < done.pages.keys()
        assert f"{site.url}/story-copy" not in done.pages
        assert all(page["text"] for page in done.pages.values())


@pytest.mark.parametrize(
    ("a", "b", "are_others"),
    [
        ("Bridge opens", "Bridge opens – Harbour Gazette", False),
        ("Bridge opens | News | Harbour Gazette", "Bridge  opens — Harbour Gazette", False),
        ("BRIDGE OPENS", "Bridge opens", False),
        ("Bridge opens", "", False),
        ("大桥重新开放-新闻中心-人民网", "大桥重新开放_人民网", False),
        ("Bridge opens", "Bridge opens late", True),
        ("Bridge opens – Harbour Gazette", "Ferry sinks – Harbour Gazette", True),
        ("大桥重新开放-人民网", "大桥再次关闭-人民网", True),
        ("Re-opening of the bridge", "Re-painting of the bridge", True),
    ],
)
def test_titles_are_compared_without_the_names_of_site_and_section(a: str, b: str, are_others: bool) -> None:
    assert are_other_titles(a, b) is are_other_titles(b, a) is are_others
