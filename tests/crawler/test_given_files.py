"""Files of headers and cookies: what of them is sent to which address, and a wrong one is one line."""

from __future__ import annotations

import gzip
import logging
import re
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from crawler.arguments import SiteArguments
from crawler.given_files import GivenCookies, read_cookies, read_headers
from crawler.runtime import OfflineCookiesMiddleware
from crawler.spider.site import SiteSpider
from dedup.errors import SettingsError
from tests.crawling import NO_NETWORK, ExitedError, crawl_site_here
from tests.localsite import Asked, LocalSite, Page, Reply, article, redirect

HOSTS = ("www.a.example",)
# In the year 2096: what is collected has to be the same in all processes.
LATER = 4_000_000_000


def line(domain: str = "www.a.example", name: str = "sid", value: str = "sesame", **fields: object) -> str:
    """Return a line of a file of cookies; `fields` are its others."""
    given = {"subdomains": "FALSE", "path": "/", "secure": "FALSE", "expires": 0, **fields}
    return "\t".join(map(str, (domain, *given.values(), name, value)))


def in_file(folder: Path, *lines: str | bytes) -> str:
    file = folder / "given.txt"
    file.write_bytes(b"\n".join(each.encode() if isinstance(each, str) else each for each in lines))
    return str(file)


# What is read


def test_headers_are_lines_and_one_name_may_come_twice(tmp_path: Path) -> None:
    name = in_file(tmp_path, "\ufeff# mine", "", "X-Key:  a: b\t c \r", "Accept:a", "Accept: b", "X-Name: Zo\xeb")
    assert read_headers(name) == (("X-Key", "a: b\t c"), ("Accept", "a"), ("Accept", "b"), ("X-Name", "Zo\xeb"))


def sent_to(given: GivenCookies, url: str) -> str:
    request = Request(url)
    given.make_jar().add_cookie_header(request)
    return (request.headers.get("Cookie") or b"").decode()


@pytest.mark.parametrize(
    ("cookie", "gets", "gets_not"),
    [
        (line(), "http://www.a.example:8000/", "http://sub.www.a.example/"),
        (line(subdomains="TRUE"), "http://sub.www.a.example/", "http://a.example/"),
        (line(".a.example", subdomains="TRUE"), "http://www.a.example/", "http://api.a.example/"),
        (line("WWW.A.example"), "http://www.a.example/", "http://a.example/"),
        (line("sub.www.a.example"), "http://sub.www.a.example/", "http://www.a.example/"),
        ("#HttpOnly_" + line(), "http://www.a.example/", "http://www.b.example/"),
        (line(path="/in"), "http://www.a.example/in/a", "http://www.a.example/inner"),
        (line(secure="TRUE"), "https://www.a.example/", "http://www.a.example/"),
        (line(expires=LATER), "http://www.a.example/", "http://notwww.a.example/"),
        (line(expires=f"{LATER}.5"), "http://www.a.example/", "http://www.a.example.b.example/"),
        (line(expires=-1), "http://www.a.example/", "http://b.example/"),
        (line(expires=""), "http://www.a.example/", "http://b.example/"),
        (line("localhost"), "http://localhost:8000/", "http://www.a.example/"),
        (line("localhost", subdomains="TRUE"), "http://localhost/", "http://a.localhost/"),
        (line("127.0.0.1"), "http://127.0.0.1:8000/", "http://127.0.0.2/"),
        (line(".127.0.0.1", subdomains="TRUE"), "http://127.0.0.1/", "http://0.0.1/"),
    ],
)
def test_cookie_is_sent_where_it_belongs(cookie: str, gets: str, gets_not: str, tmp_path: Path) -> None:
    name = in_file(tmp_path, "# Netscape HTTP Cookie File", cookie + "\r", "")
    given = read_cookies(name, (*HOSTS, "localhost", "127.0.0.1"))
    assert (sent_to(given, gets), sent_to(given, gets_not)) == ("sid=sesame", "")


def test_cookies_of_others_and_expired_ones_are_counted_and_not_sent(tmp_path: Path) -> None:
    others = [line("b.example"), line("a.example"), line(".example.com", subdomains="TRUE")]
    mine = [line(name=""), line(name="old", expires=1), line(value="")]
    given = read_cookies(in_file(tmp_path, *others, *mine), HOSTS)
    assert str(given) == "2 sent, left out: 3 of other hosts, 1 expired"
    assert sent_to(given, "http://www.a.example/") == "sesame; sid="
    assert not any(sent_to(given, f"http://{host}/") for host in ("a.example", "b.example", "example.com"))


def test_nothing_that_is_given_is_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "headers.txt").write_text("Authorization: Bearer sesame\n")
    files = {"headers": str(tmp_path / "headers.txt"), "cookies": in_file(tmp_path, line())}
    crawler = get_crawler(SiteSpider, {"COOKIES_DEBUG": True})
    crawler.spider = SiteSpider.from_crawler(crawler, url="http://www.a.example/", **files)
    request = Request("http://www.a.example/")
    with caplog.at_level(logging.DEBUG):
        OfflineCookiesMiddleware.from_crawler(crawler).process_request(request)
    assert request.headers["Cookie"] == b"sid=sesame"
    assert "1 sent" in caplog.text
    assert "sesame" not in caplog.text + repr(crawler.spider.arguments)


def test_cookies_that_only_https_sends_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for scheme, level in (("http", logging.WARNING), ("https", logging.INFO)):
        crawler = get_crawler(SiteSpider)
        given = {"url": f"{scheme}://www.a.example/", "cookies": in_file(tmp_path, line(secure="TRUE"))}
        crawler.spider = SiteSpider.from_crawler(crawler, **given)
        with caplog.at_level(logging.INFO):
            OfflineCookiesMiddleware.from_crawler(crawler)
        [record] = [each for each in caplog.records if "(1 over https alone)" in each.getMessage()]
        assert record.levelno == level
        caplog.clear()


# Wrong ones

WRONG: list[tuple[str, str | bytes, str]] = [
    ("headers", "Bearer sesame", "line 2: this is no header"),
    ("headers", "X Key: sesame", "line 2: this is no header"),
    ("headers", "X-Key:  ", "line 2: this is no header"),
    ("headers", ":authority: sesame", "line 2: this is no header"),
    ("headers", "X-Key: sesame\r\rHost: b.example", "line 2: it has a control character"),
    ("headers", "X-Key: sesame\0", "line 2: it has a control character"),
    ("headers", "X-Key: sesame\x85", "line 2: it has a control character"),
    ("headers", b"X-Key: sesam\xe9", "line 2: this is not UTF-8"),
    *(
        ("headers", f"{name}: sesame", f"line 2: the crawl sets {name} by itself")
        for name in ("Host", "content-length", "Transfer-Encoding", "CONNECTION", "Accept-Encoding", "Referer")
    ),
    ("headers", "Cookie: sid=sesame", "-a cookies=FILE"),
    ("headers", "User-Agent: sesame", "-s USER_AGENT=NAME"),
    ("cookies", "sid=sesame", "line 2: this is no cookie"),
    ("cookies", '[{"name": "sid", "value": "sesame"}]', "line 2: this is no cookie"),
    ("cookies", line().rpartition("\t")[0], "line 2: this is no cookie"),
    ("cookies", line(subdomains="sesame"), "line 2: this is no cookie"),
    ("cookies", line(secure="1"), "line 2: this is no cookie"),
    ("cookies", line(path="sesame"), "line 2: this is no cookie"),
    ("cookies", line(expires="sesame"), "line 2: this is no cookie"),
    ("cookies", line(domain=""), "line 2: this is no cookie"),
    ("cookies", line(value="sesame\x0b"), "line 2: it has a control character"),
    ("cookies", line("b.example"), "none for the start's hosts (0 sent, left out: 1 of other hosts, 0 expired)"),
    ("cookies", line(expires=1), "none for the start's hosts (0 sent, left out: 0 of other hosts, 1 expired)"),
]


def refused(**arguments: str) -> str:
    with pytest.raises(SettingsError) as error:
        SiteArguments.parse(arguments)
    return str(error.value)


@pytest.mark.parametrize(("argument", "given", "words"), WRONG, ids=[f"{each[0]}: {each[2]}" for each in WRONG])
def test_wrong_line_is_named_and_not_shown(argument: str, given: str | bytes, words: str, tmp_path: Path) -> None:
    name = in_file(tmp_path, "# mine", given)
    told = refused(url="http://www.a.example/", **{argument: name})
    assert words in told
    assert told.startswith(f"{argument} {name!r}")
    assert "sesam" not in told
    assert "\n" not in told


@pytest.mark.parametrize("argument", ["headers", "cookies"])
def test_what_is_no_file_is_told_without_what_may_be_secret(argument: str, tmp_path: Path) -> None:
    start = {"url": "http://www.a.example/"}
    assert f"{argument} 'missing.txt' cannot be read: No such file" in refused(**start, **{argument: "missing.txt"})
    assert f"{str(tmp_path)!r} cannot be read: Is a directory" in refused(**start, **{argument: str(tmp_path)})
    for secret in ("Authorization: Bearer sesame", "sid=sesame", "sid:\0sesame"):
        assert "sesame" not in refused(**start, **{argument: secret})
    assert f"{argument} cannot be combined with warc" in refused(warc="a.warc", **{argument: "missing.txt"})
    assert "has no header" in refused(**start, headers=in_file(tmp_path, "# none", ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "settings", "words"),
    [("sesame", {}, "line 1: this is no cookie"), (line(), {"COOKIES_ENABLED": False}, "COOKIES_ENABLED")],
)
def test_wrong_file_ends_the_crawl_with_status_2_before_it_begins(
    given: str, settings: dict[str, object], words: str, tmp_path: Path
) -> None:
    arguments = {"url": "http://www.a.example/", "cookies": in_file(tmp_path, given)}
    with pytest.raises(ExitedError) as ended:
        crawl_site_here(tmp_path / "crawl.db", {**NO_NETWORK, **settings}, **arguments)
    assert ended.value.status == 2
    [error] = [record.getMessage() for record in ended.value.outcome.log if record.levelno >= logging.WARNING]
    assert words in error
    assert not (tmp_path / "crawl.db").exists()


# A crawl


def members_only(site: LocalSite) -> None:
    """Give a site pages for members of its first host, who get a new session at one of them."""
    links = {"/": "/a", "/a": "/renewed", "/renewed": "/b", "/b": "/away", "/listed": "/"}

    def answer(asked: Asked) -> Page:
        if asked.headers.get("X-Key") != "sesame" or "sid=" not in asked.headers.get("Cookie", ""):
            return Reply(status=403)
        if asked.path not in links:
            return f"<urlset><url><loc>{site.url}/listed</loc></url></urlset>"
        sets = [("Set-Cookie", "sid=barley; Path=/"), ("Set-Cookie", "taste=sweet")] * (asked.path == "/renewed")
        page = article(asked.path, [links[asked.path]]).encode()
        return Reply(page, headers=[("Content-Type", "text/html"), *sets])

    site.pages |= dict.fromkeys((*links, "/map.xml"), answer)
    site.pages |= {"/away": redirect(f"{site.other_url}/here"), "/here": article("here", [f"{site.url}/"])}


@pytest.mark.slow
def test_both_are_sent_to_the_start_and_to_no_other_and_stand_nowhere(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (tmp_path / "headers.txt").write_text("X-Key: sesame\n")
    feeds = {results / "pages.jsonl": {"format": "jsonlines"}, results / "pages.warc.gz": {"format": "gz"}}
    with LocalSite() as site, LocalSite({"/robots.txt": Reply(b"")}) as other:
        members_only(site)
        site.pages["/robots.txt"] = redirect(f"{other.url}/robots.txt")
        outcome = crawl_site_here(
            results / "crawl.db",
            {"FEEDS": feeds},
            url=f"{site.url}/",
            sitemap=f"{site.url}/map.xml",
            allowed_domains="127.0.0.1,localhost",
            headers=tmp_path / "headers.txt",
            cookies=in_file(tmp_path, line("127.0.0.1", value="oats"), line("b.example")),
        )
        asked = [*site.asked, *site.made_up, *other.asked]
    sent = {f"{each.host}{each.path}": (each.headers.get("X-Key"), each.headers.get("Cookie")) for each in asked}
    start = site.url.removeprefix("http://")
    assert {f"{start}/{path}" for path in ("robots.txt", "map.xml", "listed", "away")} < sent.keys()
    assert {key for address, (key, _) in sent.items() if address.startswith(start)} == {"sesame"}
    assert {sent[f"{start}/{path}"][1] for path in ("robots.txt", "", "a", "renewed")} == {"sid=oats"}
    assert sent[f"{start}/b"][1] == "sid=barley; taste=sweet"
    assert sent[f"{site.other_url.removeprefix('http://')}/here"] == (None, None)
    # A cookie has no port.
    assert {each.headers.get("X-Key") for each in other.asked} == {None}
    assert "cookies of the file: 1 sent, left out: 1 of other hosts, 0 expired" in outcome.messages
    written = b"".join(path.read_bytes() for path in results.iterdir() if path.suffix != ".gz")
    written += gzip.decompress((results / "pages.warc.gz").read_bytes())
    shown = written.decode("latin-1") + repr((outcome.messages, outcome.stats, outcome.items))
    assert not re.search("sesame|oats|barley|sweet", shown)
