"""Documents as blocks, and pages of sites that show them: with navigation, related pages and a footer round them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from random import Random

HEADING, PARAGRAPH, ITEM, ROW = "heading", "paragraph", "item", "row"
"""Kinds of blocks: a heading, a paragraph, an item of a list, a row of a table."""

_OPENING = {ITEM: "<ul>", ROW: "<table>"}
_CLOSING = {ITEM: "</ul>", ROW: "</table>"}
_HEAD = '<!DOCTYPE html><html lang="{lang}"><head><meta charset="utf-8"><title>{title} - {site}</title></head><body>'
_END = "</body></html>"

LAYOUTS = {
    "article": "<header><a href='/'>{site}</a><nav>{nav}</nav></header><main><article><h1>{title}</h1>{body}</article>"
    "</main><aside><h3>{more}</h3>{related}</aside><footer>{foot}</footer>",
    "left": "<div class='header'>{site}</div><div class='sidebar'>{nav}<h3>{more}</h3>{related}</div>"
    "<div class='main'><h2>{title}</h2>{body}</div><div class='footer'>{foot}</div>",
    "section": "<nav class='navbar'>{nav}</nav><section class='hero'><h1>{title}</h1></section>"
    "<section class='page'>{body}</section><section class='related'><h2>{more}</h2>{related}</section>"
    "<footer>{foot}</footer>",
    "blog": "<div id='wrapper'><div id='masthead'>{site}</div><div class='post'><h2 class='entry-title'>{title}</h2>"
    "<p class='meta'>{date}</p><div class='entry-content'>{body}</div><div class='tags'>{nav}</div></div>"
    "<div class='widget'><h3>{more}</h3>{related}</div></div><div class='copyright'>{foot}</div>",
    "portal": "<div class='breadcrumb'>{nav}</div><div class='columns'><div class='column-left'>{related}</div>"
    "<div class='column-main' role='main'><h1>{title}</h1><div class='article-body'>{body}</div>"
    "<div class='share'>{share}</div></div><div class='column-right'><h4>{more}</h4>{related}</div></div>"
    "<div class='site-footer'>{foot}</div>",
    "docs": "<div class='toc'>{nav}</div><div class='document'><div class='body' role='main'><h1>{title}</h1>{body}"
    "</div></div><div class='clearer'></div><div class='related'>{related}</div><div class='footer'>{foot}</div>",
    "print": "<h1>{title}</h1>{body}<p>{printed}</p>",
}
"""Markup of sites by name."""

_WORDS = {
    "en": {
        "nav": "Home|News|Topics|Archive|Search|Help|Contact|About us|Sign in|Newsletter|Shop|Service|Jobs|Media",
        "more": "More on this|You may also like|Related pages|Most read|See also",
        "foot": "All rights reserved.|Terms of use|Privacy|Imprint|Cookies|Accessibility|Report an error",
        "share": "Share|Print|Send by mail|Bookmark",
        "printed": "Printed from {site}. This version has no pictures.",
        "months": "January|February|March|April|May|June|July|August|September|October|November|December",
        "date": "{month} {day}, {year}",
        "sites": "Infoboard|The Register Page|OpenFacts|Daily Courier|Northgate|Findout|Plainpages|Datahub|The Ledger",
    },
    "de": {
        "nav": "Startseite|Aktuelles|Themen|Archiv|Suche|Hilfe|Kontakt|Über uns|Anmelden|Newsletter|Shop|Karriere",
        "more": "Mehr zum Thema|Das könnte Sie auch interessieren|Verwandte Seiten|Meistgelesen|Siehe auch",
        "foot": "Alle Rechte vorbehalten.|Nutzungsbedingungen|Datenschutz|Impressum|Cookies|Barrierefreiheit",
        "share": "Teilen|Drucken|Per Mail senden|Merken",
        "printed": "Ausgedruckt von {site}. Diese Fassung enthält keine Bilder.",
        "months": "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember",
        "date": "{day}. {month} {year}",
        "sites": "Infobrett|Rundblick|Faktenplatz|Tageskurier|Nordtor|Nachschlag|Klarseite|Datenwerk|Amtsblick",
    },
    "zh": {
        "nav": "首页|新闻|专题|归档|搜索|帮助|联系我们|关于本站|登录|订阅|商城|服务|招聘|媒体",
        "more": "相关阅读|猜你喜欢|相关页面|阅读排行|另请参阅",
        "foot": "版权所有|使用条款|隐私政策|网站声明|意见反馈|无障碍浏览|纠错",
        "share": "分享|打印|发送邮件|收藏",
        "printed": "本页打印自{site}，打印版不含图片。",
        "months": "1|2|3|4|5|6|7|8|9|10|11|12",
        "date": "{year}年{month}月{day}日",
        "sites": "资讯台|万事通|公开资料网|每日快讯|北门网|查一查|明白网|数据港|公告栏",
    },
}


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document: its kind, and its text, of a row in cells."""

    kind: str
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its cells in a line."""
        return " ".join(self.cells)


@dataclass(frozen=True, slots=True)
class Page:
    """A document: its title, its blocks, and words of it that it is there for, which no edit may change."""

    title: str
    blocks: tuple[Block, ...]
    kept: str = ""

    @property
    def text(self) -> str:
        """All of it, a block a line."""
        return "\n".join([self.title, *(block.text for block in self.blocks)])


def as_html(blocks: tuple[Block, ...], heading: str = "h2") -> str:
    """Return blocks as HTML; rows and items that follow each other are one table and one list."""
    parts: list[str] = []
    last = ""
    for block in blocks:
        if block.kind != last:
            parts += [_CLOSING.get(last, ""), _OPENING.get(block.kind, "")]
        parts.append(_element(block, heading))
        last = block.kind
    return "\n".join(filter(None, [*parts, _CLOSING.get(last, "")]))


def _element(block: Block, heading: str) -> str:
    if block.kind == ROW:
        return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in block.cells) + "</tr>"
    name = {HEADING: heading, ITEM: "li"}.get(block.kind, "p")
    return f"<{name}>{escape(block.text)}</{name}>"


@dataclass(frozen=True, slots=True)
class Site:
    """A site: its name, the name of its layout and its language."""

    name: str
    layout: str
    language: str


def site_of(language: str, key: str, layout: str | None = None) -> Site:
    """Return a site, the same for the same key, of any layout but that for printing where none is named."""
    random = Random(f"site {key}")
    layouts = [each for each in LAYOUTS if each != "print"]
    return Site(random.choice(_WORDS[language]["sites"].split("|")), layout or random.choice(layouts), language)


def page_html(page: Page, site: Site, others: Sequence[Page], key: str) -> str:
    """Render a document in the frame of a site.

    Args:
        page: the document.
        site: round it.
        others: documents of the same site, which related lists name.
        key: what is random in the frame is the same for the same key.
    """
    random = Random(f"frame {key}")
    words = _WORDS[site.language]
    shown = random.sample(list(others), min(len(others), random.randint(3, 7)))
    own = Random(f"menu {site.name} {site.layout}")
    menu = own.sample(words["nav"].split("|"), own.randint(5, 9))
    filled = LAYOUTS[site.layout].format(
        site=site.name,
        title=escape(page.title),
        body=as_html(page.blocks, own.choice(["h2", "h3"])),
        nav="".join(f"<a href='/{at}'>{each}</a> " for at, each in enumerate(menu)),
        more=own.choice(words["more"].split("|")),
        related="<ul>" + "".join(f"<li><a href='/p'>{escape(each.title)}</a></li>" for each in shown) + "</ul>",
        foot=f"<p>© {random.randint(2015, 2024)} {site.name}. {' '.join(words['foot'].split('|'))}</p>",
        share=" ".join(words["share"].split("|")),
        printed=words["printed"].format(site=site.name),
        date=a_date(site.language, random),
    )
    return _HEAD.format(lang=site.language, title=escape(page.title), site=site.name) + filled + _END


def a_date(language: str, random: Random) -> str:
    """Return a day of the last years, as one writes it in a language."""
    words = _WORDS[language]
    month = random.choice(words["months"].split("|"))
    return words["date"].format(month=month, day=random.randint(1, 28), year=random.randint(2016, 2024))
