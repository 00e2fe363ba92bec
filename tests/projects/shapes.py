"""Eight projects of shapes that real ones have: where they are, what they crawl, and which items are copies."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from dedup.stage.pending import Reading
from tests.crawling import ROOT
from tests.localsite import Page, Reply, article
from tests.projects.running import Project, Stored
from tests.texts import document, edited

_EXAMPLES = ROOT / "examples"
_HERE = Path(__file__).parent
_SCRAPY = ("-m", "scrapy", "crawl")
_URL = ("-a", "url={url}")
_OF_TEXT = re.compile(r"(.*?) ?(\(text \w+\))?")

A, B, C, D = (document(150, f"projects {name}") for name in "abcd")
NEAR_A, NEAR_B = edited(A, 5), edited(B, 5)


def shapes() -> Iterator[Project]:
    """Yield the projects."""
    yield quotes()
    yield news()
    yield shop()
    yield press()
    yield papers()
    yield forum()
    yield jobs()
    yield articles()


def quotes() -> Project:
    def stored(folder: Path) -> list[Stored]:
        rows = [json.loads(line)["text"] for line in _lines(folder / "quotes.jsonl")]
        # The pipeline behind the stage has taken off the quotation marks.
        return [Stored(_in_one_line(text)[:50], Reading(text=f"“{text}”").content_name) for text in rows]

    return Project(
        folder=_EXAMPLES / "quotes",
        site=_files_of(_EXAMPLES / "quotes" / "site"),
        command=(*_SCRAPY, "quotes", *_URL),
        stored=stored,
        copies=(
            ("A map is a promise that somebody has walked there ",) * 2,
            ("The sea does not mind how good your boat was last ",) * 2,
            ("What you cannot say in a short letter you do not k",) * 2,
            ("Bread teaches patience to everybody but the one wh",) * 2,
            ("My grandmother kept three kinds of silence in the ",) * 2,
        ),
        key=_digest_of,
        settings="quotes/settings.py",
        place="duplicates are dropped before QuotesPipeline, the feeds",
        found=frozenset({"text: text; key: the response's URL and the text; told apart by: author"}),
        more='DEDUP_SHORT_TEXTS = "drop"\n',
    )


def news() -> Project:
    def stored(folder: Path) -> list[Stored]:
        return [_page(link) for (link,) in _rows(folder / "news.db", "SELECT link FROM stories")]

    return Project(
        folder=_EXAMPLES / "news",
        site=_files_of(_EXAMPLES / "news" / "site"),
        command=(*_SCRAPY, "stories", *_URL),
        stored=stored,
        copies=(
            ("/stories/harbour-bridge.html", "/print/harbour-bridge.html", "/agency/harbour-bridge.html"),
            ("/stories/library-hours.html", "/print/library-hours.html"),
            ("/stories/night-train.html", "/print/night-train.html"),
            ("/stories/ferry-fares.html", "/agency/ferry-fares.html"),
            ("/stories/lighthouse-letters.html", "/agency/lighthouse-letters.html"),
        ),
        key=_path_of,
        settings="news/settings.py",
        place="duplicates are dropped before SqlitePipeline, the feeds",
        found=frozenset(
            {"text: title + article_text; key: link; told apart by: title, content_intro; items of StoryItem"}
        ),
    )


def shop() -> Project:
    def stored(folder: Path) -> list[Stored]:
        products = [json.loads(line) for line in _lines(folder / "Product.jsonl")]
        reviews = [json.loads(line) for line in _lines(folder / "Review.jsonl")]
        found = [
            Stored(
                f"{item['title']}, {item['category']}",
                Reading(text=f"{item['title']}\n{item['description']}").content_name,
            )
            for item in products
        ]
        return found + [Stored(f"review {item['id_']}", f"products:{item['id_']}") for item in reviews]

    return Project(
        folder=_EXAMPLES / "shop",
        site=_files_of(_EXAMPLES / "shop" / "site"),
        command=(*_SCRAPY, "products", *_URL),
        stored=stored,
        copies=(
            ("Kettle for the stove, kitchen", "Kettle for the stove, gifts"),
            ("review 102", "review 108"),
            # One of them is shown in both categories of its product, under the same id.
            ("review 107", "review 107", "review 110"),
        ),
        key=_digest_of,
        settings="shop/settings.py",
        place="duplicates are dropped before JsonLinesPipeline, the feeds",
        found=frozenset(
            {
                (
                    "text: title + description; key: the response's URL and the text; "
                    "told apart by: title, price; items of Product"
                ),
                "text: content; key: id_; items of Review",
            }
        ),
    )


def press() -> Project:
    def stored(folder: Path) -> list[Stored]:
        pages = [_page(json.loads(path.read_text())["url"]) for path in (folder / "data").glob("*.json")]
        assert {path.stem for path in (folder / "data").glob("*.html")} == {Path(page.name).stem for page in pages}
        return pages

    site = _articles({"/a.html": A, "/b.html": B, "/c.html": C, "/a-again.html": A, "/a-near.html": NEAR_A})
    return Project(
        folder=_HERE / "press",
        site=site,
        command=(*_SCRAPY, "recursive", *_URL),
        stored=stored,
        copies=(("/a.html", "/a-again.html", "/a-near.html"),),
        key=_path_of,
        settings="press/settings.py",
        place="duplicates are dropped before ArticleExtractor, HtmlFileStorage, JsonFileStorage, the feeds",
        found=frozenset({"text: spider_response; key: url; told apart by: source_domain; items of PressItem"}),
    )


def papers() -> Project:
    def stored(folder: Path) -> list[Stored]:
        rows = _rows(folder / "catalogue.db", "SELECT title, checksum, path FROM papers")
        assert all((folder / "pdf" / path).is_file() for _, _, path in rows)
        return [Stored(title, Reading(checksums=(checksum,)).content_name) for title, checksum, _ in rows]

    pdfs = {
        "/tides.pdf": b"%PDF-1.7 tides",
        "/copy/tides.pdf": b"%PDF-1.7 tides",
        "/tides-2nd-edition.pdf": b"%PDF-1.7 Tides",
        "/ice.pdf": b"%PDF-1.7 ice",
        "/ice-copy.pdf": b"%PDF-1.7 ice",
    }
    titles = dict(zip(pdfs, ("Tides", "On tides", "Tides, 2nd edition", "Ice", "Ice"), strict=True))
    links = [f'<a class="pdf" href="{path}">{title}</a>' for path, title in titles.items()]
    site: dict[str, Page] = {
        path: Reply(pdf, headers={"Content-Type": "application/pdf"}) for path, pdf in pdfs.items()
    }
    site["/"] = _html(*links[:3], '<a class="next" href="/2">more</a>')
    site["/2"] = _html(*links[3:])
    return Project(
        folder=_HERE / "papers",
        site=site,
        command=(*_SCRAPY, "papers", *_URL),
        stored=stored,
        copies=(("Tides", "On tides"), ("Ice", "Ice")),
        key=_digest_of,
        settings="papers/settings.py",
        place="duplicates are dropped before CataloguePipeline, the feeds; after FilesPipeline",
        found=frozenset({"text: checksums of files; key: the response's URL and the text"}),
    )


def forum() -> Project:
    def stored(folder: Path) -> list[Stored]:
        posts = _rows(folder / "forum.db", "SELECT url, author, message FROM posts")
        members = _rows(folder / "forum.db", "SELECT nick FROM members")
        assert not any(message != message.strip() for _, _, message in posts)
        return [Stored(author, _path_of(url)) for url, author, _ in posts] + [
            Stored(f"member {nick}", "") for (nick,) in members
        ]

    posts = [
        ("ann", A, 2019),
        ("bob", B, 2021),
        ("cem", C, None),
        ("dan", NEAR_A, None),
        ("eve", D, 2020),
        ("fay", B, 2),
    ]
    rows = [
        f'<div class="post"><b>{author}</b><p> {message}\n</p>{f"<i>{joined}</i>" if joined else ""}</div>'
        for author, message, joined in posts
    ]
    return Project(
        folder=_HERE / "forum",
        site={"/": _html(*rows[:3], '<a class="next" href="/2">more</a>'), "/2": _html(*rows[3:])},
        command=(*_SCRAPY, "threads", *_URL),
        stored=stored,
        copies=(("ann", "dan"), ("bob", "fay")),
        # Several posts of a page have its URL, and all but the first a key made of it.
        key=lambda key: _path_of(_OF_TEXT.fullmatch(key)[1]),  # type: ignore[index]
        settings="forum/settings.py",
        place="duplicates are dropped before StripPipeline, SqlitePipeline, the feeds",
        found=frozenset({"text: message; key: url; items of Post"}),
        # The same post by another member is spam.
        more='DEDUP_TEXT_FIELD = {"Member": None}\nDEDUP_DISTINCT_FIELDS = []\n',
        named=("DEDUP_TEXT_FIELD = {'Member': 'NAME'}, or None",),
        warnings=("several texts under one key",),
    )


def jobs() -> Project:
    def stored(folder: Path) -> list[Stored]:
        return [_page(url) for (url,) in _rows(folder / "jobs.db", "SELECT url FROM jobs")]

    return Project(
        folder=_HERE / "jobs",
        site=_articles({"/1": A, "/2": B, "/3": NEAR_B, "/4": C, "/5": A}, title="Boatbuilder"),
        command=(*_SCRAPY, "jobs", *_URL),
        stored=stored,
        copies=(("/1", "/5"), ("/2", "/3")),
        key=_path_of,
        settings="jobs/settings.py",
        place="duplicates are dropped before ModelPipeline, SavePipeline, the feeds",
        found=frozenset({"text: title + description; key: url; told apart by: title, company; items of Job"}),
    )


def articles() -> Project:
    def stored(folder: Path) -> list[Stored]:
        with (folder / "articles.csv").open(encoding="utf-8", newline="") as lines:
            return [_page(url) for url, *_ in csv.reader(lines)]

    texts = {
        "/new/a": A,
        "/new/b": B,
        "/new/b-near": NEAR_B,
        "/old/c": C,
        "/old/d": D,
        "/new/a-again": A,
        "/old/c-again": C,
    }
    return Project(
        folder=_HERE / "articles",
        site=_articles(texts, title="The sea"),
        command=("crawl.py", "{url}"),
        stored=stored,
        copies=(("/new/a", "/new/a-again"), ("/new/b", "/new/b-near"), ("/old/c", "/old/c-again")),
        key=_path_of,
        settings="settings.py",
        place="duplicates are dropped before CsvPipeline, the feeds",
        found=frozenset(
            {
                "text: headline + articleBody; key: url; told apart by: headline; items of Article",
                "text: articleBodyHtml; key: url; told apart by: headline; items of Article",
            }
        ),
    )


def _articles(texts: Mapping[str, str], title: str = "") -> dict[str, Page]:
    pages: dict[str, Page] = {path: article(path, text=text, title=title) for path, text in texts.items()}
    links = "".join(f'<a href="{path}">{path}</a>' for path in texts)
    return {"/": _html(f"<nav>{links}</nav>"), **pages}


def _html(*parts: str) -> str:
    return f"<!DOCTYPE html><html><head><title>A list</title></head><body>{''.join(parts)}</body></html>"


def _files_of(folder: Path) -> dict[str, Page]:
    pages: dict[str, Page] = {
        f"/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in folder.rglob("*.html")
    }
    return {"/": pages["/index.html"], **pages}


def _page(url: str) -> Stored:
    return Stored(_path_of(url), _path_of(url))


def _path_of(url: str) -> str:
    return urlsplit(url).path


def _digest_of(key: str) -> str:
    """Return the end of a key that was made of the text, and any other key as it is."""
    match = _OF_TEXT.fullmatch(key)
    return key if match is None or match[2] is None else match[2]


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _lines(path: Path) -> Iterable[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _rows(path: Path, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()
