"""Sites with copies at many addresses, in the shapes of widely used programs.

A site says of each of its addresses what stands there, its content: addresses with the same content are copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from html import escape
from random import Random
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlencode, urljoin, urlsplit

from benchmarks.site import MISSING, Answer
from benchmarks.texts import english_of

_LISTED = 12
_MOST_ADDRESSES = 2_000

Query = Mapping[str, str]


class Page(NamedTuple):
    """What stands at an address.

    Attributes:
        content: what all its copies have in common; "" for what is no page.
        title: its title.
        text: its paragraphs, between line breaks.
        links: plain addresses of other pages, which the site writes in its ways.
        own: addresses that are written as they are.
        canonical: the address that it names as its own.
        kind: its media type.
    """

    content: str
    title: str
    text: str
    links: Sequence[str]
    own: Sequence[str] = ()
    canonical: str = ""
    kind: str = "text/html"


class Site:
    """Articles that link to one another, and lists of twelve of them each, of which the first is the front page.

    Attributes:
        host: its name.
        count: how many articles it has.
        form: of the plain address of an article: n is its number, slug and title are words, section is one of these.
        list_form: of that of a list.
        sections: of the site.
        tails: what stands behind plain addresses, one as often as the other.
        arguments: further ones of its crawl.
        log: the addresses that it was asked for, in order.
    """

    host = ""
    count = 60
    form = "/{n}"
    list_form = "/page/{n}/"
    sections: tuple[str, ...] = ("",)
    tails: tuple[str, ...] = ("",)
    arguments: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.log: list[str] = []
        self.articles = [self._filled(self.form, number) for number in range(self.count)]
        lists = ["/", *(self._filled(self.list_form, number) for number in range(1, -(-self.count // _LISTED)))]
        self.numbers = {address: number for number, address in enumerate(self.articles)}
        self.lists = {address: number for number, address in enumerate(lists)}

    def _filled(self, form: str, number: int) -> str:
        slug = _slug(f"{self.host} {form} {number}")
        title = slug.title().replace("-", "_")
        section = self.sections[number % len(self.sections)]
        return form.format(n=number, slug=slug, title=title, section=section, list=number // _LISTED)

    def written(self, address: str, chance: Random) -> str:
        """Return a plain address in one of the ways in which the site writes it."""
        return _with(address, chance.choice(self.tails))

    def page(self, url: SplitResult, query: Query) -> Page | None:
        """Return what stands at an address; None for nothing."""
        return self.plain(url.path)

    def plain(self, address: str, own: Sequence[str] = ()) -> Page | None:
        """Return what stands at a plain address; own: further links of an article."""
        if address in self.numbers:
            return self.article(self.numbers[address], own)
        return self.listing(self.lists[address]) if address in self.lists else None

    def article(self, number: int, own: Sequence[str] = (), name: str = "", text: str = "") -> Page:
        """Return an article.

        Args:
            number: which.
            own: its links besides those to some others.
            name: of its content, if that is not the article's.
            text: its text; "" for one by its name.
        """
        chance = Random(f"{self.host} {number}")
        near = [(number + step) % self.count for step in (-1, 1)] + chance.sample(range(self.count), 3)
        links = [*(self.articles[each] for each in near), list(self.lists)[number // _LISTED % len(self.lists)]]
        name = name or self.articles[number]
        return Page(name, _title(f"{self.host} {number}"), text or _text(f"{self.host}{name}"), links, own)

    def listing(self, number: int, own: Sequence[str] = (), order: str = "") -> Page:
        """Return a list of articles; order: another than the usual one."""
        items = self.articles[number * _LISTED : (number + 1) * _LISTED]
        title = _title(f"{self.host} list {number}")
        return Page(f"list {number}", title, _teasers(items, order), [*items, *self.lists], own)

    def at(self, address: str) -> Page | None:
        """Return what stands at an absolute address; None for nothing."""
        url = urlsplit(address)
        return self.page(url, dict(parse_qsl(url.query)))

    def links_at(self, address: str, page: Page) -> list[str]:
        """Return where a page leads, in the order of its links."""
        chance = Random(address)
        links = [*(self.written(link, chance) for link in page.links), *page.own]
        chance.shuffle(links)
        return [urljoin(address, link) for link in links]

    def answer(self, address: str, _host: str) -> Answer:
        """Answer a request, and note it."""
        if urlsplit(address).path == "/robots.txt":
            return MISSING
        self.log.append(address)
        page = self.at(address)
        if page is None:
            return MISSING
        body = self._html(address, page) if page.content else f"<rss><title>{page.title}</title></rss>"
        return Answer(200, body.encode(), (("Content-Type", f"{page.kind}; charset=utf-8"),))

    def _html(self, address: str, page: Page) -> str:
        chance = Random(address)
        links = "".join(f'<a href="{escape(each)}">{_title(each)}</a> ' for each in self.links_at(address, page))
        canonical = f'<link rel="canonical" href="{urljoin(address, page.canonical)}">' if page.canonical else ""
        others = [_title(chance.randrange(200)) for _ in range(5)]
        paragraphs = [*page.text.split("\n"), *([f"Read on: {others[0]}"] if chance.random() < 0.5 else [])]
        minutes = chance.randrange(24 * 60)
        return (
            f'<!DOCTYPE html><html lang="en"><head><title>{page.title} | {self.host}</title>{canonical}</head><body>'
            f"<header><a href='/'>{self.host}</a></header><nav>{links}</nav><main><article><h1>{page.title}</h1>"
            f"{''.join(f'<p>{each}</p>' for each in paragraphs)}</article></main>"
            f"<aside><h3>Most read</h3><ul>{''.join(f'<li>{each}</li>' for each in others)}</ul></aside>"
            f"<footer>27 November 2026, {minutes // 60:02}:{minutes % 60:02}</footer></body></html>"
        )


_TRACKING = ("utm_source=letter&utm_medium=mail", "utm_source=rss&utm_campaign=may", "fbclid=IwAR1x", "gclid=Cj0KC")
_SESSIONS = tuple(f"{Random(visit).getrandbits(128):032x}" for visit in range(4))


class Blog(Site):
    """replytocom, share, utm_* and fbclid, feeds, and addresses without the slash at their end."""

    host, count, form = "blog.example", 48, "/2026/{section}/{slug}/"
    sections = ("01", "03", "05", "08", "11")

    def written(self, address: str, chance: Random) -> str:
        return chance.choice((address, address, address.rstrip("/") or "/", _with(address, chance.choice(_TRACKING))))

    def page(self, url: SplitResult, query: Query) -> Page | None:
        path = url.path.rstrip("/") + "/"
        if path.endswith("/feed/"):
            return Page("", "Comments", "", (), kind="application/rss+xml")
        number = self.numbers.get(path, 0)
        own = [f"{path}?replytocom={10 * number + reply}" for reply in range(number % 3)]
        own += [f"{path}?share={network}" for network in ("x", "facebook")[: 1 + number % 2]]
        page = self.plain(path, [*own, f"{path}feed/"])
        return page and page._replace(canonical=path)


class Wiki(Site):
    """Articles at two addresses and printable; forms to edit them and old versions, of which one in three is a copy."""

    host, count, form, list_form = "wiki.example", 66, "/wiki/{title}", "/wiki/Category:{title}"

    def written(self, address: str, chance: Random) -> str:
        is_long = address in self.numbers and chance.random() < 0.4
        return address.replace("/wiki/", "/index.php?title=") if is_long else address

    def page(self, url: SplitResult, query: Query) -> Page | None:
        address = f"/wiki/{query.get('title')}" if url.path == "/index.php" else url.path
        if address not in self.numbers:
            return self.plain(address)
        number = self.numbers[address]
        views = [f"oldid={1_000 + 10 * number + version}" for version in range(number % 4)]
        views += ["printable=yes"] * (number % 3 > 0) + ["action=edit"] * (number % 2)
        own = [f"{address.replace('/wiki/', '/index.php?title=')}&{view}" for view in views]
        if int(old := query.get("oldid", "0")) % 3:
            return self.article(number, own, f"{address} {old}", _revised(address, old))
        return self.article(number, own, f"edit {address}" if "action" in query else "")


class Board(Site):
    """sid in the query, of four visits; topics at the numbers of their posts, too, or without their forum."""

    host, count, form, list_form = "board.example", 54, "/viewtopic.php?f={list}&t={n}", "/viewforum.php?f={n}"
    tails = ("",) * 4 + tuple(f"sid={session}" for session in _SESSIONS)

    def page(self, url: SplitResult, query: Query) -> Page | None:
        if url.path != "/viewtopic.php":
            return self.plain("/" if url.path == "/" else f"{url.path}?f={query.get('f')}")
        number = (int(query["p"]) - 5_000) // 7 if "p" in query else int(query["t"])
        own = [f"{url.path}?p={5_000 + 7 * number}", f"{url.path}?t={number}"][number % 3 :]
        own += [f"{self.articles[number]}&start=15"] * (number % 3 == 0)
        return self.article(number, own, f"{number} continued" if "start" in query else "")


class Forum(Site):
    """;jsessionid in the path, of four visits; boards in other orders; threads to print."""

    host, form, list_form = "forum.example", "/forum/thread/{n}", "/forum/board/{n}"
    tails = ("",) * 4 + tuple(f";jsessionid={session.upper()}" for session in _SESSIONS)

    def page(self, url: SplitResult, query: Query) -> Page | None:
        path = url.path.partition(";")[0]
        if path in self.lists:
            own = [f"{path}?sort={by}&order={way}" for by in ("date", "author") for way in ("asc", "desc")]
            return self.listing(self.lists[path], own, url.query)
        page = self.plain(path, [f"{path}?print=1"] * (self.numbers.get(path, 0) % 3 > 0))
        return page and page._replace(text=page.text + _printed(path) * ("print" in query))


class Shop(Site):
    """Products in up to three categories; lists by colour and size, in either order, with sort, dir, limit and view."""

    host, form, list_form = "shop.example", "/shoes/{slug}-{n}", "/{section}"
    sections = ("new", "shoes", "sale")

    def written(self, address: str, chance: Random) -> str:
        path, _, query = address.partition("?")
        if query:
            return f"{path}?{'&'.join(chance.sample(query.split('&'), query.count('&') + 1))}"
        return chance.choice(self._places(self.numbers[address])) if address in self.numbers else address

    def page(self, url: SplitResult, query: Query) -> Page | None:
        category, _, name = url.path.removeprefix("/").partition("/")
        number = self.numbers.get(f"/shoes/{name}")
        if number is not None:
            return self.article(number, self._places(number)[:: 1 + number % 2])
        return self.plain(url.path) if category not in self.sections else self._found(category, query)

    def _found(self, category: str, query: Query) -> Page:
        facets = {"color": ("red", "blue", "black"), "size": ("s", "m")}
        chosen = {name: query[name] for name in facets if name in query}
        numbers = [n for n in range(self.count) if any(place.startswith(f"/{category}/") for place in self._places(n))]
        for (name, values), step in zip(facets.items(), (1, 3), strict=True):
            numbers = [n for n in numbers if chosen.get(name) in (None, values[n // step % len(values)])]
        others = [urlencode(chosen | {name: value}) for name, values in facets.items() for value in values]
        name = f"/{category}?{urlencode(chosen)}".rstrip("?")
        own = [_with(name, view) for view in ("sort=price&dir=asc", "sort=name&dir=desc", "limit=48", "view=grid")]
        items = [self.articles[n] for n in numbers]
        text = f"{english_of(name, 60)}\n{_teasers(items, query.get('sort', ''))}"
        links = [*(f"/{category}?{each}" for each in others), *self.lists]
        own += [item.replace("shoes", category, 1) for item in items]
        return Page(name, _title(name), text, links, own)

    def _places(self, number: int) -> list[str]:
        categories = ["shoes"] + ["sale"] * (number % 5 < 2) + ["new"] * (number % 5 in (1, 2))
        return [self.articles[number].replace("shoes", category, 1) for category in categories]


class Newspaper(Site):
    """/print/, /amp, another host for telephones, and parameters that track."""

    host, form, list_form = "www.daily.example", "/{section}/{slug}-{n}", "/archive/{n}"
    sections = ("politics", "sports", "culture", "local")
    tails = ("",) * 9 + (*_TRACKING, "ref=top", "ref=side")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        path = url.path.removeprefix("/print").removesuffix("/amp")
        number = self.numbers.get(path, 0)
        others = [f"/print{path}", f"{path}/amp", f"http://m.daily.example{path}"]
        page = self.plain(path, others[number % 3 :] + others[: number % 2])
        if page is None:
            return None
        names_it = url.path.endswith("/amp") or url.netloc.startswith("m.")
        return page._replace(
            links=page.links[:2] if url.path != path else page.links,
            text=page.text + _printed(path) * url.path.startswith("/print/"),
            canonical=f"http://{self.host}{path}" if names_it else "",
        )


class Calendar(Site):
    """Events of one year, and a calendar of days and months without an end, most of which are empty."""

    host, form, list_form = "events.example", "/event/{slug}", "/events/{n}"
    arguments = ("-s", "CLOSESPIDER_PAGECOUNT=700")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        if not url.path.startswith("/calendar/"):
            page = self.plain(url.path)
            return page and page._replace(own=["/calendar/2026/06/"])
        year, month, *rest = map(int, url.path.removeprefix("/calendar/").rstrip("/").split("/"))
        days = [date(2026, 1, 3) + timedelta(days=6 * number) for number in range(self.count)]
        wanted = (year, month, *rest)
        items = [self.articles[n] for n, each in enumerate(days) if each.timetuple()[: len(wanted)] == wanted]
        named = date(year, month, *(rest or [1])).strftime("%d %B %Y" if rest else "%B %Y")
        at = 12 * year + month - 1
        own = [f"/calendar/{each // 12}/{each % 12 + 1:02}/" for each in (at - 1, at + 1)]
        if not rest:
            own += [f"{url.path}{day:02}/" for day in range(1, 29)] + [f"{url.path}?view=list"] * (at % 3 == 0)
        empty = f"There are no events on {named}. Choose another day, or subscribe to our letter to hear of what is "
        text = _text(url.path, 40) if items else empty + "planned. You can propose an event of your own to the editors."
        name = url.path if items else f"empty {'day' if rest else 'month'}"
        return Page(name, f"Calendar: {named}", f"{text}\n{_teasers(items)}", items, own)


class Documentation(Site):
    """Three versions and the latest one; two in five pages are the same in all. index.html."""

    host, count, form, list_form = "docs.example", 54, "/latest/{section}/{slug}/", "/contents/{n}/"
    sections, tails = ("guide", "reference", "tools"), ("", "", "", "index.html")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        path = url.path.removesuffix("index.html")
        version = path.split("/")[1]
        address = path.replace(version, "latest", 1)
        if address not in self.numbers:
            return self.plain(path)
        number = self.numbers[address]
        meant = version.replace("latest", "2.0") if number % 5 > 1 else ""
        others = [address.replace("latest", each, 1) for each in ("latest", "1.0", "1.1", "2.0") if each != version]
        page = self.article(number, others, f"{address} {meant}", _revised(address, meant))
        return page._replace(links=[link.replace("latest", version, 1) for link in page.links])


class Ids(Site):
    """Ids in parameters, which say which page it is; ref and print, which do not matter."""

    host, count, form = "catalog.example", 150, "/{section}={n}"
    sections, tails = ("article.php?id", "photo?p", "index.php?view=person&id"), ("",) * 5 + ("ref=home", "ref=mail")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        left = urlencode({name: value for name, value in query.items() if name not in ("ref", "print")})
        address = f"{url.path}?{left}".removesuffix("?")
        return self.plain(address, [f"{address}&print=1"] * (self.numbers.get(address, 1) % 6 == 0))


class Paged(Site):
    """Lists in pages, by ?page=2 and by ?start=20, the first of which have two addresses; from= at their articles."""

    host, count, form, list_form = "archive.example", 96, "/item/{slug}", "/{section}/{slug}"
    sections = ("topics", "news")

    def written(self, address: str, chance: Random) -> str:
        is_followed = address in self.numbers and chance.random() < 0.4
        return f"{address}?from={chance.choice(('news', 'topics', 'home'))}" if is_followed else address

    def page(self, url: SplitResult, query: Query) -> Page | None:
        if url.path not in self.lists or url.path == "/":
            return self.plain(url.path)
        at = int(query.get("page", 1)) - 1 + int(query.get("start", 0)) // 20
        steps = [step for step in (0, at - 1, at + 1, at + 2) if 0 <= step < 7]
        own = [f"?page={step + 1}" if url.path.startswith("/news") else f"?start={20 * step}" for step in steps]
        name = f"{url.path} {at}"
        items = Random(name).sample(self.articles, 8)
        return Page(name, _title(url.path), _teasers(items), [*items, *self.lists], own)


class Languages(Site):
    """?lang=de and ?lang=fr, which are not copies but where a page is not translated; ?lang=en, which is."""

    host, form, tails = "museum.example", "/exhibit/{n}", ("", "", "lang=en")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        number, language = self.numbers.get(url.path), query.get("lang", "en")
        if number is None:
            return self.plain(url.path)
        own = [f"{url.path}?lang={each}" for each in ("de", "fr", "en") if each != language]
        is_translated = (number + {"en": -number, "de": 1, "fr": 3}[language]) % 5 > 0
        return self.article(number, own, f"{url.path} {language}" if is_translated else "")


class Corner(Site):
    """sid in the query does not matter, but below /gallery/, where it says which picture."""

    host, count, form = "portal.example", 90, "/story/{slug}"
    tails = ("", "", "", "sid=17", "sid=23", "sid=31")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        if url.path != "/gallery/view":
            return self.plain(url.path, ["/gallery/view"] * (self.numbers.get(url.path) == self.count // 2))
        picture = int(query.get("sid", 0))
        own = [f"{url.path}?sid={picture + step}" for step in (-1, 1, 2, 7) if 0 <= picture + step < 60]
        name = f"picture {picture}"
        return Page(name, _title(name), _text(name), ["/"], own)


class Gallery(Site):
    """size= at pictures, which says how large one is shown; two of the largest have numbers of their own."""

    host, count, form = "gallery.example", 150, "/photo/{n}"
    tails = ("", "size=s", "size=l")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        number, size = self.numbers.get(url.path), query.get("size", "m")
        page = self.plain(url.path, [f"{url.path}?size={each}" for each in "sl" if each != size])
        if page is None or number is None:
            return page
        is_largest = number % 75 == 7 and size == "l"
        return page._replace(text=page.text + _camera(2 * number + is_largest))


class MailingList(Site):
    """via= at messages, which says by which index one was reached; one of the newest shows a note by one of them."""

    host, count, form = "lists.example", 220, "/message/{n}"
    tails = ("", "via=thread", "via=date")

    def page(self, url: SplitResult, query: Query) -> Page | None:
        number, via = self.numbers.get(url.path), query.get("via", "")
        noted = f"{self.articles[3]}?via=date"
        if number is None:
            page = self.plain(url.path)
            return page._replace(own=[self.articles[3], noted]) if page and url.path == "/" else page
        page = self.article(number, [f"{url.path}?via={each}" for each in ("thread", "date") if each != via])
        is_noted = f"{url.path}?via={via}" == noted
        return page._replace(title=_title("rebuilt"), text=english_of("rebuilt", 90)) if is_noted else page


class Variants(Site):
    """variant= at products: most are the product, one in ten is another, with its own numbers under the same title."""

    host, count, form, list_form = "parts.example", 150, "/part/{n}", "/list/{n}"

    def page(self, url: SplitResult, query: Query) -> Page | None:
        number, variant = self.numbers.get(url.path), int(query.get("variant", 0))
        if number is None:
            return self.plain(url.path)
        own = [f"{url.path}?variant={each}" for each in range(1, 4) if each != variant]
        is_another = (4 * number + variant) % 10 == 9
        name = f"{url.path} {variant}" if is_another else url.path
        return self.article(number, own, name, _text(url.path) + _camera(4 * number + variant * is_another))


KINDS: dict[str, type[Site]] = {
    "a blog": Blog,
    "a wiki with old versions": Wiki,
    "a forum with sid": Board,
    "a forum with jsessionid": Forum,
    "a shop with facets": Shop,
    "a newspaper": Newspaper,
    "a calendar without an end": Calendar,
    "documentation in versions": Documentation,
    "ids in parameters": Ids,
    "lists in pages": Paged,
    "languages": Languages,
    "sid that matters in one corner": Corner,
    "a gallery with sizes": Gallery,
    "a mailing list with via": MailingList,
    "products in variants": Variants,
}
"""The kinds of sites."""


@cache
def _text(name: str, least: int = 130) -> str:
    sentences = english_of(name, least + Random(name).randrange(least // 2)).split(". ")
    return ".\n".join(". ".join(sentences[start : start + 4]) for start in range(0, len(sentences), 4))


def _revised(name: str, version: str) -> str:
    """Return a text of which a third is the same in all versions."""
    return f"{_text(name, 45)}\n{_text(f'{name} {version}', 95)}"


@cache
def _title(name: object) -> str:
    return english_of(f"title {name}", 5).rstrip(".").title()


def _slug(name: str) -> str:
    return "-".join(english_of(name, 3).lower().replace(".", "").split())


@cache
def _teaser(address: str) -> str:
    return english_of(f"teaser {address}", 24)


def _teasers(addresses: Iterable[str], order: str = "") -> str:
    teasers = list(map(_teaser, addresses))
    if order:
        Random(order).shuffle(teasers)
    return "\n".join(teasers)


def _camera(number: int) -> str:
    """Return numbers that tell two pages apart which are alike."""
    chance = Random(number)
    measures = ("width", "height", "weight", "aperture", "speed", "focus")
    return "\n" + ", ".join(f"{name} {chance.randrange(1_000, 9_999)}" for name in measures)


def _printed(path: str) -> str:
    return f"\nPrinted on 27 November 2026 from {path}"


def _with(address: str, tail: str) -> str:
    """Return an address with a parameter, or with the end of a path."""
    return f"{address}{('&' if '?' in address else '?') * ('=' in tail and tail[0] != ';')}{tail}"


def truth_of(site: Site) -> dict[str, str]:
    """Return the addresses of a site that its links lead to, as far as they are looked at, with their contents."""
    waiting = [f"http://{site.host}/"]
    known = set(waiting)
    contents = {}
    for address in waiting:  # it grows
        page = site.at(address)
        if page is None or len(known) > _MOST_ADDRESSES:
            continue
        contents[address] = page.content
        new = set(links := site.links_at(address, page)) - known
        waiting += [link for link in dict.fromkeys(links) if link in new]
        known |= new
    return contents
