"""Pages of the demo site: articles, and the frames around them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from html import escape
from importlib.resources import files

SITE_NAMES = {"en": "The Harbour Gazette", "zh": "南屿日报"}

SECTIONS = {
    "en": {
        "/": "Front page",
        "/news/": "Town news",
        "/zh/": "中文版",
        "/archive": "Archive",
        "/notices/": "Small notices",
        "/events": "What's on",
        "/about": "About us",
    },
    "zh": {"/": "English", "/zh/": "本地新闻", "/archive": "资料室", "/about": "关于我们"},
}

SIDEBARS = {
    "en": ("Most read", {"/stories/ferry-rescue": "The ferry", "/stories/tram-vote": "The tram"}),
    "zh": ("热门文章", {"/zh/stories/canteen": "社区食堂", "/zh/stories/last-metro": "末班地铁"}),
}

FOOTERS = {
    "en": "The Harbour Gazette, Weigh House Lane 4, Port Ellery. Printed on paper every Saturday.",
    "zh": "南屿日报社，南屿市邮局街二号。每周六出版。",
}


@dataclass(frozen=True)
class Reply:
    """Status, headers and body of an HTTP response."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def html_reply(
    html: str,
    *,
    status: int = 200,
    encoding: str = "utf-8",
    content_type: str = "text/html; charset=utf-8",
) -> Reply:
    """Return an HTML page as a reply."""
    return Reply(status, {"Content-Type": content_type}, html.encode(encoding))


@dataclass(frozen=True)
class Article:
    """One text: a story, or the introduction of another page."""

    slug: str
    lang: str
    title: str
    byline: str
    published: date
    paragraphs: tuple[str, ...]

    @property
    def date_text(self) -> str:
        """Return the day of publication as a reader would write it."""
        day = self.published
        if self.lang == "zh":
            return f"{day.year}年{day.month}月{day.day}日"
        return f"{day.day} {day:%B} {day.year}"

    def edited(self, old: str, new: str) -> Article:
        """Return the article with `old`, which must occur exactly once, replaced."""
        occurrences = sum(paragraph.count(old) for paragraph in self.paragraphs)
        if occurrences != 1:
            raise ValueError(f"{old!r} occurs {occurrences} times in {self.slug}")
        return replace(self, paragraphs=tuple(p.replace(old, new) for p in self.paragraphs))

    def opened_with(self, paragraph: str) -> Article:
        """Return the article with a paragraph put before the others."""
        return replace(self, paragraphs=(paragraph, *self.paragraphs))

    def closed_with(self, paragraph: str) -> Article:
        """Return the article with a paragraph put after the others."""
        return replace(self, paragraphs=(*self.paragraphs, paragraph))

    def without_last(self) -> Article:
        """Return the article cut by its last paragraph."""
        return replace(self, paragraphs=self.paragraphs[:-1])


def load_articles(folder: str, lang: str) -> dict[str, Article]:
    """Return the articles of `folder` in one language by slug, oldest first.

    A file holds the title, the byline and the ISO date on a line each, then the
    paragraphs, separated by blank lines.
    """
    articles = []
    for file in files(__package__).joinpath(folder, lang).iterdir():
        head, *paragraphs = re.split(r"\n{2,}", file.read_text(encoding="utf-8").strip())
        title, byline, published = head.splitlines()
        slug = file.name.removesuffix(".txt")
        articles.append(Article(slug, lang, title, byline, date.fromisoformat(published), tuple(paragraphs)))
    articles.sort(key=lambda article: (article.published, article.slug))
    return {article.slug: article for article in articles}


@dataclass(frozen=True)
class Link:
    """A link below the text of a page."""

    href: str
    text: str
    nofollow: bool = False

    def html(self) -> str:
        """Return the link as an anchor element."""
        rel = ' rel="nofollow"' if self.nofollow else ""
        return f'<a href="{escape(self.href)}"{rel}>{escape(self.text)}</a>'


def gazette_page(
    article: Article,
    links: Iterable[Link] = (),
    *,
    canonical: str | None = None,
    charset: str = "utf-8",
    robots: str | None = None,
) -> str:
    """Return the article in the frame of the newspaper's own site."""
    site_name = SITE_NAMES[article.lang]
    sidebar_title, sidebar = SIDEBARS[article.lang]
    return f"""\
<!DOCTYPE html>
<html lang="{article.lang}">
<head>
{_head(article, site_name, canonical, charset, robots)}
<style>body {{ font-family: Georgia, serif; max-width: 60em; margin: auto; }}</style>
</head>
<body>
<header>
<strong>{escape(site_name)}</strong>
<nav>{_link_list(Link(path, text) for path, text in SECTIONS[article.lang].items())}</nav>
</header>
<main>
<article>
<h1>{escape(article.title)}</h1>
<p class="byline">{escape(article.byline)}, {_time(article)}</p>
{_paragraphs(article)}
</article>
<nav class="links">{_link_list(links)}</nav>
</main>
<aside class="sidebar">
<h2>{escape(sidebar_title)}</h2>
{_link_list(Link(path, text) for path, text in sidebar.items())}
</aside>
<footer><p>{escape(FOOTERS[article.lang])}</p></footer>
</body>
</html>
"""


def print_page(article: Article, *, canonical: str) -> str:
    """Return the article in a bare frame meant for paper."""
    return f"""\
<!DOCTYPE html>
<html lang="{article.lang}">
<head>
{_head(article, SITE_NAMES[article.lang], canonical)}
<style>body {{ font: 11pt serif; }} @page {{ margin: 2cm; }}</style>
</head>
<body>
<article>
<h1>{escape(article.title)}</h1>
<p class="byline">{_time(article)} / {escape(article.byline)}</p>
{_paragraphs(article)}
</article>
<footer><p><a href="{escape(canonical)}">{escape(SITE_NAMES[article.lang])}</a></p></footer>
</body>
</html>
"""


def phone_page(article: Article, *, canonical: str) -> str:
    """Return the article in the frame of a reading application for telephones."""
    return f"""\
<!DOCTYPE html>
<html amp lang="{article.lang}">
<head>
{_head(article, "Pocket Reader", canonical)}
<meta name="viewport" content="width=device-width">
<script>document.documentElement.dataset.theme = "dark";</script>
</head>
<body>
<nav id="menu">{_link_list([Link("/partners", "Sources"), Link("/", "Newspaper")])}</nav>
<div class="screen">
<article class="post">
<header><h1>{escape(article.title)}</h1><div class="byline">{escape(article.byline)}</div></header>
<div class="post-content">
{_paragraphs(article)}
</div>
</article>
</div>
<footer><button type="button">Save for later</button></footer>
</body>
</html>
"""


def wire_page(article: Article) -> str:
    """Return the article in the frame of a news agency."""
    return f"""\
<!DOCTYPE html>
<html lang="{article.lang}">
<head>
{_head(article, "Coast Wire")}
</head>
<body>
<div id="masthead"><nav>{_link_list([Link("/partners", "Coast Wire: newsroom")])}</nav></div>
<div id="columns">
<main id="story">
<article>
<h2>{escape(article.title)}</h2>
{_paragraphs(article)}
</article>
</main>
<aside><h3>Desk</h3><p>Duty editor: extension 41. Pictures: extension 44.</p></aside>
</div>
<footer><p>Coast Wire serves newspapers, radio stations and shipping offices.</p></footer>
</body>
</html>
"""


def _head(
    article: Article,
    site_name: str,
    canonical: str | None = None,
    charset: str = "utf-8",
    robots: str | None = None,
) -> str:
    """Return the metadata that belong into the head of every frame."""
    published = article.published.isoformat()
    description = article.paragraphs[0][:150]
    lines = [
        f'<meta charset="{charset}">',
        f"<title>{escape(article.title)} | {escape(site_name)}</title>",
        f'<meta name="author" content="{escape(article.byline)}">',
        f'<meta name="description" content="{escape(description)}">',
        f'<meta property="article:published_time" content="{published}T06:00:00+00:00">',
    ]
    if canonical:
        lines.append(f'<link rel="canonical" href="{escape(canonical)}">')
    if robots:
        lines.append(f'<meta name="robots" content="{robots}">')
    return "\n".join(lines)


def _paragraphs(article: Article) -> str:
    return "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in article.paragraphs)


def _time(article: Article) -> str:
    return f'<time datetime="{article.published.isoformat()}">{article.date_text}</time>'


def _link_list(links: Iterable[Link]) -> str:
    items = "".join(f"<li>{link.html()}</li>" for link in links)
    return f"<ul>{items}</ul>" if items else ""
