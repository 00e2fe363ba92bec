"""Pages that JavaScript writes: told from others, skipped without a browser, and rendered in a real one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from socket import AF_INET, SOCK_DGRAM, socket
from typing import Any

import pytest

from crawler.pages.extraction import LinkRules, extract_page
from crawler.settings import CrawlerSettings, JavaScript, JavaScriptByHost
from dedup.errors import SettingsError
from tests.crawling import Crawl, crawl, crawl_site_here
from tests.localsite import LocalSite, Reply, article
from tests.pdfs import in_lines, pdf
from tests.texts import document

needs_browser = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")
PAGES = 12
SCRIPT = """
const path = location.pathname === "/" ? "/0" : location.pathname;
fetch("/api" + path + ".json").then(answer => answer.json()).then(page => {
  document.title = page.title;
  const links = page.links.map(link => `<a href="${link}">${link}</a>`).join(" ");
  document.getElementById("app").innerHTML = `<article><p>${page.text}</p></article><nav>${links}</nav>`;
});
"""
WRITING = """
const text = Array.from({length: 90}, (_, n) => "word" + n * location.pathname.at(-1)).join(" ");
document.body.innerHTML = `<p>${text}</p>`;
"""
NOTE = "You need to enable JavaScript to run this app."
SHELL = (
    '<!DOCTYPE html><html lang="en"><head><title>app</title><script defer src="/app.js"></script></head>'
    f'<body><noscript>{NOTE}</noscript><div id="app"></div></body></html>'
)


def asked_for(value: Any, kind: str) -> Reply:
    body = value if isinstance(value, str) else json.dumps(value)
    return Reply(body.encode(), headers={"Content-Type": kind})


@pytest.fixture
def app() -> Iterator[LocalSite]:
    """A site of some pages, two of them equal, whose server sends one shell for all, and the PDF of one."""
    pages: dict[str, Any] = {"/app.js": asked_for(SCRIPT, "text/javascript"), "/": SHELL}
    for number in range(PAGES):
        seed = "one" if number in (7, 8) else number
        links = [*(f"/{n}" for n in range(1, PAGES)), "/6.pdf"] if number == 0 else ["/"]
        page = {"title": f"page {number}", "text": document(200, f"text of {seed}"), "links": links}
        pages |= {f"/{number}": SHELL, f"/api/{number}.json": asked_for(page, "application/json")}
    with LocalSite(pages) as site:
        data = pdf(in_lines(document(200, "text of 6")))
        site.pages["/6.pdf"] = Reply(data, headers={"Content-Type": "application/pdf"})
        yield site


SHELLS = {
    "note": SHELL,
    "no note": '<html><body><div id="root"></div><script src="/app.js"></script></body></html>',
    "own element": "<html><body><app-root></app-root><script type=module src=/app.js></script></body></html>",
    "inline": f'<html><body><div id="__next"></div><script>{"let a = 1;" * 300}</script></body></html>',
    "own script": "<html><body><div id=root></div><script>window.state = {page: 1}; start()</script></body></html>",
    "own script, loading": "<html><body><my-app></my-app><p>Loading …</p><script>start()</script></body></html>",
    "short": f"<html><body><noscript>{NOTE}</noscript><div id=a></div><script>import('/app.js')</script></body></html>",
    "loading": f'<html><body><div>Loading …</div><noscript>{NOTE}</noscript><script src="/a"></script></body></html>',
}
NO_SHELLS = {
    "article": article("x", head=f'<script src="/app.js"></script><noscript>{NOTE}</noscript>'),
    "no script": f'<html><body><div id="app"></div><noscript>{NOTE}</noscript></body></html>',
    "few words": '<html><body><p>Thank you.</p><script src="/count.js"></script></body></html>',
    "own script": '<html><body><p>Thank you.</p><div class="end"></div><script>count()</script></body></html>',
    "leads elsewhere": '<html><body><div id="to"></div><script>location.href = "/real"</script></body></html>',
    "data": '<html><body><div></div><script type="application/ld+json">{"a": 1}</script></body></html>',
    "picture": '<html><body><div></div><img src="/one.jpg"><script src="/count.js"></script></body></html>',
    "form": '<html><body><div></div><form><input name="q"></form><script src="/count.js"></script></body></html>',
    "empty": "<html><body></body></html>",
}


@pytest.mark.parametrize("html", [*SHELLS.values(), *NO_SHELLS.values()], ids=[*SHELLS, *NO_SHELLS])
def test_shells_are_told_from_pages_that_say_little(html: str) -> None:
    extraction = extract_page(html.encode(), "http://example.com/", LinkRules(("example.com",)), with_text=True)
    assert extraction.is_shell == (html in SHELLS.values())


def test_shells_are_neither_copies_nor_kept_and_counted(app: LocalSite, tmp_path: Path) -> None:
    starts = ",".join(f"{app.url}/{number}" for number in range(PAGES))
    outcome = crawl_site_here(tmp_path / "crawl.db", url=starts)
    assert (outcome.count("crawler/skipped/needs_javascript"), outcome.items, outcome.dropped) == (PAGES, [], [])
    assert any("CRAWLER_JAVASCRIPT=when-empty" in message for message in outcome.messages)


def test_modes_are_read_by_host() -> None:
    def read(value: object) -> JavaScriptByHost:
        return CrawlerSettings.read({"CRAWLER_JAVASCRIPT": value}.get).javascript

    assert read("always").of_host("other.example") is JavaScript.ALWAYS
    for by_host in ('{"App.example.com": "always", "*": "when-empty"}', '{"app.EXAMPLE.com": "always"}'):
        assert read(by_host).of_host("app.example.com") is JavaScript.ALWAYS
    assert read('{"App.example.com": "always", "*": "when-empty"}').of_host("other.example") is JavaScript.WHEN_EMPTY
    assert read('{"app.example.com": "always"}').of_host("other.example") is JavaScript.OFF
    for wrong in ("sometimes", '{"*": "never"}', 7):
        with pytest.raises(SettingsError, match=r"^CRAWLER_JAVASCRIPT = .*when-empty"):
            read(wrong)


def test_browser_that_is_not_there_ends_the_crawl_before_it_begins(tmp_path: Path) -> None:
    constants = {"crawler.spider.browser._NAMES": ["no-such-browser"]}
    result = crawl(
        tmp_path / "crawl.db", {"CRAWLER_JAVASCRIPT": "always"}, constants=constants, url="http://127.0.0.1:1/"
    )
    assert result.status == 2
    assert "CRAWLER_JAVASCRIPT needs a browser" in result.errors[-1]


def rendered(site: LocalSite, tmp_path: Path, mode: str = "when-empty", **options: Any) -> Crawl:
    settings = {"CRAWLER_JAVASCRIPT": mode, "CRAWLER_PDF": True}
    return crawl(tmp_path / "crawl.db", settings, url=site.url + "/", accidents=True, **options)


@needs_browser
@pytest.mark.parametrize("mode", ["when-empty", pytest.param("always", marks=pytest.mark.thorough)])
def test_pages_are_rendered_decided_and_stored(mode: str, app: LocalSite, tmp_path: Path) -> None:
    app.pages["/robots.txt"] = "User-agent: *\nDisallow: /api/5.json\n"
    result = rendered(app, tmp_path, mode)
    assert result.skipped == {"needs_javascript": 1}  # what robots.txt forbids is not asked for
    assert result.stats["crawler/rendered"] == PAGES
    # Without that one, and two copies of others: a page, and a PDF, that only a page which was rendered links.
    assert len(result.pages) == result.summed_up("kept") == PAGES - 2
    assert result.summary["dropped"].startswith("2 ")
    assert document(200, "text of 9")[:40] in result.pages[f"{app.url}/9"]["text"]
    assert result.pages[f"{app.url}/9"]["title"] == "page 9"
    assert app.hits["/app.js"] == 1
    assert app.hits["/api/5.json"] == 0
    assert result.accidents == []


@needs_browser
def test_page_that_needs_no_script_is_not_rendered_unless_asked(tmp_path: Path) -> None:
    with LocalSite({"/": article("plain")}) as site:
        assert "crawler/rendered" not in rendered(site, tmp_path).stats
        assert rendered(site, tmp_path, json.dumps({"127.0.0.1": "always"})).stats["crawler/rendered"] == 1


@needs_browser
def test_browser_reaches_nothing_by_itself(tmp_path: Path) -> None:
    with (
        socket(AF_INET, SOCK_DGRAM) as stun,
        LocalSite({"/secret.json": asked_for({"text": "treasure"}, "application/json")}) as other,
    ):
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        reaching = f"""
        document.getElementById("app").innerHTML = "<p>{document(60, "own")}</p>";
        const tell = text => document.getElementById("app").innerHTML += `<p>This is what happened: ${{text}}.</p>`;
        const read = answer => answer.text();
        const ask = address => fetch(address).then(read).then(tell).catch(_ => tell("refused " + address));
        new WebSocket("{other.url.replace("http", "ws")}/socket");
        ask("{other.url}/secret.json"); ask("http://127.0.0.2/secret.json"); ask("file:///etc/passwd");
        fetch("/posted", {{method: "POST", body: "x"}}).catch(error => tell("not posted"));
        const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{stun.getsockname()[1]}"}}]}});
        peer.createDataChannel("x");
        peer.createOffer().then(offer => peer.setLocalDescription(offer)).then(_ => tell("offered"));
        new Image().src = "{other.url}/picture.png";
        setTimeout(() => {{ location.href = "{other.url}/moved"; }}, 50);
        """
        with LocalSite({"/": SHELL, "/app.js": asked_for(reaching, "text/javascript")}) as site:
            result = rendered(site, tmp_path)
            assert set(site.hits) <= {"/", "/app.js", "/robots.txt"}
        assert other.hits == {}
        with pytest.raises(BlockingIOError):
            stun.recv(1)
    text = next(iter(result.pages.values()))["text"]
    assert "treasure" not in text
    assert text.count("refused") == 3
    assert "not posted" in text
    assert "offered" in text


@pytest.mark.thorough
@needs_browser
@pytest.mark.parametrize(
    "script",
    [
        "for (;;) {}",
        "const all = []; for (;;) { all.push(new Uint8Array(50_000_000).fill(1)); }",
        "let n = 0; const ask = () => fetch('/more/' + n++).then(ask, ask); ask();",
        "location.href = 'chrome://crash'; for (;;) {}",
        "for (let n = 0; n < 1000; n++) window.open('/' + n);",
        "setInterval(() => { for (let n = 0; n < 100; n++) history.pushState('x'.repeat(1e5) + n, '', '/' + n); }, 1)",
    ],
    ids=["for ever", "memory", "requests", "crash", "windows", "crash of the browser"],
)
def test_page_that_takes_too_much_or_crashes_is_named_and_the_crawl_goes_on(script: str, tmp_path: Path) -> None:
    bad = SHELL.replace("/app.js", "/bad.js")
    good = {f"/good{number}": SHELL for number in range(4)}
    links = "".join(f'<a href="{path}">x</a>' for path in ("/bad", *good))
    pages: dict[str, Any] = {
        "/": bad.replace("</body>", f"{links}</body>"),
        "/bad": bad,
        **good,
        "/bad.js": asked_for(script, "text/javascript"),
        "/app.js": asked_for(WRITING, "text/javascript"),
    }
    with LocalSite(pages) as site:
        result = rendered(site, tmp_path, constants={"crawler.spider.browser.RENDERING_SECONDS": 8.0})
        assert sum(count for path, count in site.hits.items() if path.startswith("/more")) <= 2 * 100
    assert set(result.pages) == {site.url + path for path in good}
    assert result.skipped == {"needs_javascript": 2}
    assert (result.status, result.accidents) == (0, [])


@pytest.mark.thorough
@needs_browser
def test_rendered_pages_are_asked_for_in_full_again(app: LocalSite, tmp_path: Path) -> None:
    app.pages["/3"] = Reply(SHELL.encode(), headers={"Content-Type": "text/html", "ETag": '"one"'})
    settings = {"CRAWLER_JAVASCRIPT": "when-empty"}
    crawl(tmp_path / "crawl.db", settings, url=app.url + "/3", max_depth=0)
    page = {"title": "new", "text": document(120, "another text"), "links": []}
    app.pages["/api/3.json"] = asked_for(page, "application/json")
    again = crawl(tmp_path / "crawl.db", settings, url=app.url + "/3", recrawl="true", max_depth=0)
    assert document(120, "another text")[:40] in again.pages[f"{app.url}/3"]["text"]
