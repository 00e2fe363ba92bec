"""Pages that are broken, hostile or enormous, on both databases: none stops the crawl or is lost without a word."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.crawling import Crawl, crawl, crawl_site_here, pages_in
from tests.localsite import HTML, LocalSite, Page, Reply, article, gzipped
from tests.texts import chinese, chinese_words, document
from tests.waiting import HANG

pytestmark = pytest.mark.slow

MAX_SIZE = 6_000_000
TRADITIONAL_WORDS = """
圖書館 港口 早上 九點 開門 晚上 關門 讀者 書籍 雜誌 報紙 電腦 去年 冬天 館長 決定 延長 時間 學生 放學 讀書 市民 歡迎
歷史 經濟 發展 飛機 火車 醫院 醫生 藥品 農業 漁業 貿易 關係 問題 機會 環境 變化 衛生 體育 藝術 畫家 聲音 電視 廣播 節目
"""
CONTROLS = "".join(map(chr, [*range(1, 9), 11, 12, *range(14, 32), *range(127, 160), 0x202E, 0x2066, 0xFEFF]))
HOSTILE_LINKS = (
    "http://[broken",
    "//[::1",
    "http://",
    "https:///path",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "mailto:a@example.com",
    "data:text/html,<p>x",
    "http://127.0.0.1:notaport/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:80:80/",
    "http://\udc80/",
    "/far/" + "x" * 10_000,
    "../../../../../../leaf",
    "#top",
    "?",
    "\t\n",
)


def page_of(text: str, encoding: str, header: str = "text/html", meta: str = "") -> Reply:
    """Return a page in an encoding, which header and meta element may name, hide or lie about."""
    return Reply(article("x", text=text, head=meta, title=text[:12]).encode(encoding), headers={"Content-Type": header})


def meta_charset(name: str) -> str:
    return f'<meta charset="{name}">'


def simplified(seed: str) -> str:
    return chinese(chinese_words(120, seed))


def traditional(seed: str) -> str:
    return chinese(Random(seed).choices(TRADITIONAL_WORDS.split(), k=150))


# Chinese pages with their texts, which have to be found again.
ENCODED: dict[str, tuple[Reply, str]] = {
    path: (page_of(text, encoding, header, meta), text)
    for path, text, encoding, header, meta in (
        ("/gb18030-undeclared", simplified("1"), "gb18030", "text/html", ""),
        ("/gb18030-by-meta", simplified("2"), "gb18030", "text/html", meta_charset("gb2312")),
        ("/gb18030-as-latin-1", simplified("3"), "gb18030", "text/html; charset=iso-8859-1", ""),
        ("/gb18030-as-utf-8", simplified("4"), "gb18030", "text/html; charset=utf-8", meta_charset("utf-8")),
        ("/utf-8-as-latin-1", simplified("5"), "utf-8", "text/html; charset=iso-8859-1", meta_charset("gbk")),
        ("/utf-8-undeclared", simplified("6"), "utf-8", "text/html", ""),
        ("/utf-8-with-mark", simplified("7"), "utf-8-sig", "text/html", ""),
        ("/unknown-charset", simplified("8"), "utf-8", "text/html; charset=x-no-such", meta_charset("x-no-such")),
        ("/big5-undeclared", traditional("1"), "big5", "text/html", ""),
        ("/big5-by-header", traditional("2"), "big5", "text/html; charset=big5", ""),
        ("/big5-by-meta", traditional("3"), "big5", "text/html", meta_charset("Big5")),
    )
}
# Pages that are not stored, with the reason.
REFUSED: dict[str, tuple[Page, str]] = {
    "/too-large": (Reply(b"<p>" + b"x " * MAX_SIZE), "too_large"),
    "/too-large-by-header": (Reply(b"<p>x", announced=10**12), "too_large"),
    "/too-large-without-header": (Reply(lambda: [b"<p>" + b"x " * 500_000] * 20), "too_large"),
    "/too-large-in-chunks": (Reply(lambda: [b"<p>" + b"x " * 500_000] * 20, chunked=True), "too_large"),
    "/gzip-bomb": (gzipped(b"\0" * 10_000_000), "too_large"),
    "/gzip-bomb-twice": (
        Reply(
            gzip.compress(gzip.compress(b"\0" * 100_000_000, 1)),
            headers={"Content-Type": HTML, "Content-Encoding": "gzip, gzip"},
        ),
        "too_large",
    ),
    "/deflate-bomb": (
        Reply(zlib.compress(b" " * 10_000_000), headers={"Content-Type": HTML, "Content-Encoding": "deflate"}),
        "too_large",
    ),
}
# Pages that are stored, with what else has to be true of their row.
STORED: dict[str, tuple[Page, Callable[[dict[str, Any]], bool]]] = {
    "/plain": (
        article("plain"),
        lambda row: (
            (row["extraction"], row["page_characters"] > 120) == ("fast", True)
            and document(120, "plain") in row["text"]
        ),
    ),
    "/no-main-text": (
        '<html><title>Map</title><body><nav><a href="/"></a></nav></body>',
        lambda row: (row["text"], row["title"], row["extraction"], row["page_characters"]) == ("", "Map", None, 0),
    ),
    "/no-main-text-2": ("<html><title>Plan</title><body></body></html>", lambda row: row["text"] == ""),
    "/a-letter-cut-off": (
        Reply(article("cut", text=f"{document(80, 'cut')}, {'Brücke ' * 9}@").encode().replace(b"@", b"\xc3")),
        lambda row: "utf-8" in row["problem"] and "Brücke \ufffd" in row["text"],
    ),
    "/many-tags": (
        f"<html><body>{'<p>x' * 1_000_000}<a href=/behind-many-tags></body></html>",
        lambda row: " tags and attributes, " in row["problem"] and row["page_characters"] is None,
    ),
    "/many-attributes": (
        f"<html>{'<p a b c d e f g h i j k l m n o p q r s t u v w>x' * 90_000}<a href=/behind-many-attributes></html>",
        lambda row: "MemoryError" in row["problem"],
    ),
    "/no-element": (document(80, "no element"), lambda row: row["problem"] is None),
    "/bytes": (Reply(bytes(range(1, 256)) * 20), lambda row: True),
    "/deep": (
        f"<html><body>{'<div>' * 100_000}<p>{document(80, 'deep')}</p>{'</div>' * 100_000}</body></html>",
        lambda row: True,
    ),
    "/deep-inline": (f"<html><body><p>{'<b><i>' * 50_000}{document(80, 'inline')}</body></html>", lambda row: True),
    "/deep-list": (f"<html><body>{'<ul><li>item ' * 30_000}</body></html>", lambda row: True),
    "/unclosed": (f"<html><body><article><p>{document(80, 'unclosed')}<table><tr><td", lambda row: True),
    "/nul": (
        article("nul", text=f"\0{document(60, 'nul')}\0 {CONTROLS} {document(60, 'more')}\0", title=f"A\0B{CONTROLS}C"),
        lambda row: document(60, "more") in row["text"] and row["title"].startswith("A"),
    ),
    **{
        f"/control-entity-{number}": (
            article("entity", text=f"{document(60, number)} &#{number}; {document(60, f'{number} more')}"),
            lambda row, number=number: document(60, f"{number} more") in row["text"],
        )
        for number in (0, 1, 8, 12, 27, 0x9B, 0x202E, 0xFFFE, 0x110000)
    },
    "/surrogate-bytes": (
        Reply(article("surrogates", text="\ud800 " + document(80, "s") + " \udfff").encode("utf-8", "surrogatepass")),
        lambda row: document(80, "s") in row["text"],
    ),
    "/surrogate-entities": (
        article(
            "entity", text=f"&#xD800; {document(80, 'e')} &#55296;&#xDFFF;", head="<meta name=author content=&#xD800;>"
        ),
        lambda row: document(80, "e") in row["text"],
    ),
    "/half-a-letter": (
        Reply(article("half", text=document(80, "half")).encode() + b"\xe4\xbd"),
        lambda row: document(80, "half") in row["text"],
    ),
    "/large-title": (article("large title", title="T" * 1_000_000), lambda row: 0 < len(row["title"]) <= 2_000),
    "/large-metadata": (
        article(
            "metadata", head=f'<meta name="author" content="{"A" * 300_000}"><meta name="date" content="{"9" * 9999}">'
        ),
        lambda row: len(row["author"] or "") <= 2_000 and len(row["date"] or "") <= 2_000,
    ),
    "/large-language": (
        article("language").replace('lang="en"', f'lang="{"x" * 300_000}"'),
        lambda row: len(row["language"] or "") <= 2_000,
    ),
    "/many-links": (article("many links", [f"/many-links#{number}" for number in range(5_000)]), lambda row: True),
    "/hostile-links": (article("hostile links", [*HOSTILE_LINKS, "/behind-hostile-links"]), lambda row: True),
    "/odd-escapes%FF%00%0A": (article("odd escapes", ["/leaf"]), lambda row: True),
    "/leaf": (article("leaf"), lambda row: row["referrer"] is not None),
    "/gzip": (gzipped(article("gzip").encode()), lambda row: document(120, "gzip") in row["text"]),
    "/deflate": (
        Reply(
            zlib.compress(article("deflate").encode()), headers={"Content-Type": HTML, "Content-Encoding": "deflate"}
        ),
        lambda row: document(120, "deflate") in row["text"],
    ),
    "/xml-declaration": (
        Reply(b'<?xml version="1.0" encoding="utf-8"?>' + article("xml").encode()),
        lambda row: document(120, "xml") in row["text"],
    ),
}
# The elements of one paragraph take trafilatura a time that grows with the square of their number.
KILLER = article("killer", text="<span>word</span> " * 5_000)

TOO_MUCH = {"/many-tags", "/many-attributes"}
"""Of what is stored: what a worker does not read to its end."""

BEHIND = ("/behind-hostile-links", "/behind-many-tags", "/behind-many-attributes")
"""What only such pages link to."""


EXTRACTION_SECONDS = "crawler.runtime.EXTRACTION_SECONDS"


@dataclass(frozen=True)
class BadPages:
    url: str
    crawl: Crawl


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def bad(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BadPages]:
    if request.param == "sqlite":
        database = f"sqlite:///{tmp_path_factory.mktemp('bad') / 'crawl.db'}"
    else:
        database = request.getfixturevalue("postgresql_server")().create_database()
    linked = {path: page for pages in (ENCODED, REFUSED, STORED) for path, (page, _) in pages.items()}
    with LocalSite({"/": article("front", linked), **linked}) as site:
        for number, path in enumerate(BEHIND):
            site.pages[path] = article(f"behind {number}")
        settings = {"DOWNLOAD_MAXSIZE": MAX_SIZE, "DEDUP_WORKERS": 1}
        constants = {EXTRACTION_SECONDS: HANG}
        yield BadPages(site.url, crawl(database, settings, accidents=True, constants=constants, url=f"{site.url}/"))


def row_of(bad: BadPages, path: str) -> dict[str, Any]:
    assert bad.url + path in bad.crawl.pages
    return bad.crawl.pages[bad.url + path]


def test_crawl_with_bad_pages_succeeds_and_every_page_is_stored_or_named(bad: BadPages) -> None:
    crawl = bad.crawl
    assert (crawl.status, crawl.stats["finish_reason"], crawl.accidents) == (0, "finished", [])
    assert set(crawl.pages) == {bad.url + path for path in ("/", *BEHIND, *STORED, *ENCODED)}
    assert crawl.summed_up("kept") == len(crawl.pages)
    assert crawl.summed_up("skipped") == sum(crawl.skipped.values()) == len(REFUSED)
    assert crawl.summed_up("dropped") == 0, "pages without text are no duplicates of each other"
    with_problems = {url.removeprefix(bad.url) for url, row in crawl.pages.items() if row["problem"]}
    without_text = {url.removeprefix(bad.url) for url, row in crawl.pages.items() if not row["text"]}
    assert with_problems == {*without_text, "/a-letter-cut-off", "/bytes"}
    assert without_text > TOO_MUCH
    assert crawl.stats["crawler/extraction_failed"] == len(TOO_MUCH)


@pytest.mark.parametrize("path", REFUSED)
def test_page_is_refused_with_its_reason(path: str, bad: BadPages) -> None:
    pattern = rf"INFO: skipped {re.escape(bad.url + path)}: ([^(\n]*?)(?: \(|$)"
    assert re.findall(pattern, bad.crawl.stderr, re.MULTILINE) == [REFUSED[path][1].replace("_", " ")]


@pytest.mark.parametrize("path", STORED)
def test_page_is_stored_with_what_can_be_read_of_it(path: str, bad: BadPages) -> None:
    row = row_of(bad, path)
    assert STORED[path][1](row)


@pytest.mark.parametrize("path", ENCODED)
def test_text_is_read_whatever_the_charset_is_said_to_be(path: str, bad: BadPages) -> None:
    row = row_of(bad, path)
    assert row["text"].strip(".") == ENCODED[path][1]
    assert "\ufffd" not in row["text"]
    assert re.search("[\u4e00-\u9fff]", row["title"] or "")


def test_page_that_kills_its_worker_is_stored_without_text_and_analysed_next_time(
    tmp_path: Path,
) -> None:
    with LocalSite({"/killer": KILLER}) as site:
        constants = {EXTRACTION_SECONDS: 0.2}
        result = crawl(tmp_path / "crawl.db", {"DEDUP_WORKERS": 1}, constants=constants, url=f"{site.url}/killer")
        assert result.says("WARNING", f"{site.url}/killer", "without text")
        [row] = result.pages.values()
        assert (row["text"], "0.2 s" in row["problem"]) == ("", True)
        assert zlib.decompress(row["html"]).decode() == KILLER
        assert result.stats["crawler/extraction_failed"] == 1
        crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/killer")
    [row] = pages_in(result.database_url)
    assert (row["problem"], row["text"][:9]) == (None, "word word")


def test_html_is_stored_byte_by_byte(bad: BadPages) -> None:
    assert zlib.decompress(row_of(bad, "/gb18030-undeclared")["html"]) == ENCODED["/gb18030-undeclared"][0].body
    assert zlib.decompress(row_of(bad, "/gzip")["html"]).decode() == article("gzip")


def test_no_string_holds_what_upsets_databases_and_terminals(bad: BadPages) -> None:
    tables = [*bad.crawl.pages.values(), *bad.crawl.verdicts]
    strings = [value for row in tables for value in row.values() if isinstance(value, str)]
    assert [value[:80] for value in strings if re.search(f"[\0{re.escape(CONTROLS)}\ud800-\udfff]", value)] == []
    assert set(bad.crawl.stderr + bad.crawl.stdout) & set("\0\x1b\x9b\u202e\u2066") == set()
