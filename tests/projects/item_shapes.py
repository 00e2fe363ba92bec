"""Items of the shapes that lose things to a stage, or make it miss copies, and which thing each item is.

Each item says which thing it is (`thing`, written as an address, by which the stage tells nothing), so that what is
stored can be counted by things; copies are the same thing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from scrapy.exceptions import DropItem

from tests.texts import document

Item = dict[str, Any]


def words(seed: object, count: int) -> str:
    """Return so many words, the same for the same seed."""
    return document(count, seed)


def filled_in(_: int) -> list[Item]:
    """Articles whose text a pipeline at 100 fills in; every fourth is a copy."""
    return [_article(n, n - (n % 4 == 3)) | {"text": "NULL", "filled": words(n - (n % 4 == 3), 200)} for n in range(36)]


def refused(_: int) -> list[Item]:
    """Stories of which the first of each two has no stock, which a pipeline asks for."""
    return [_article(n, n // 2) | {"stock": 5 if n % 2 else None} for n in range(48)]


def comments(_: int) -> list[Item]:
    """Comments and topics of one class: most are a few words; two long ones are posted twice."""
    short = ("+1", "Thank you!", "This.", "Me too")
    items = [{"id": n, "author": f"user{n % 30}", "text": short[n % 4], "thing": n} for n in range(120)]
    return items + [{"id": 200 + n, "author": "bot", "text": words(n % 2, 120), "thing": 200 + n % 2} for n in range(4)]


def described(_: int) -> list[Item]:
    """Products with one description of 30 words; every tenth is listed twice."""
    return [
        {"url": _url(n), "name": f"Mug {n % 36}", "price": 5 + n % 36, "description": words("mug", 30), "thing": n % 36}
        for n in range(40)
    ]


def moving(day: int) -> list[Item]:
    """Items without a URL, in lists of ten a page that move on by three each day."""
    return [{"quote": n, "text": words(n, 60), "thing": n} for n in range(3 * day, 161 + 3 * day)]


def updated(_: int) -> list[Item]:
    """Stories, each followed by an update with 150 words more, and by a copy."""
    items = []
    for n in range(20):
        story = words(n, 300)
        update = f"{story} {words(f'update {n}', 150)}"
        items += [
            {"url": f"{_url(n)}/{kind}", "text": text, "thing": f"{n} {thing}"}
            for kind, text, thing in (("1", story, "story"), ("2", update, "update"), ("3", story, "story"))
        ]
    return items


def jobs(_: int) -> list[Item]:
    """Jobs at three places each, some of them listed again with another place in the list."""
    places = ("Bern", "Basel", "Chur")
    listed = [(job, place) for job in range(12) for place in range(3)]
    return [
        {"url": f"{_url(job)}/{place}{again}", "title": "Nurse", "position": n, "text": words(f"job {job}", 150)}
        | {"jobLocation": {"address": {"addressLocality": places[place]}}, "thing": f"{job} {place}"}
        for again, some in (("", listed), ("?sort=date", listed[::4]))
        for n, (job, place) in enumerate(some)
    ]


def flats(_: int) -> list[Item]:
    """Flats of one house, each at two addresses."""
    return [
        {"url": f"{_url(n)}?from={page}", "text": words("house", 120), "floor": n // 4, "rooms": 2 + n % 4}
        | {"rent": {"amount": 900 + 10 * n, "currency": "EUR"}, "crawled": f"2026-11-25 10:{n:02}", "thing": n}
        for n in range(20)
        for page in ("list", "map")
    ]


def rows(_: int) -> list[Item]:
    """Variants of a product, a row each, all at its address."""
    return [
        {
            "url": _url(n // 8),
            "title": f"Shirt {n // 8}",
            "option": f"size {n % 8}",
            "body": words(f"shirt {n // 8}", 70),
        }
        | {"thing": n}
        for n in range(80)
    ]


def replies(_: int) -> list[Item]:
    """Posts, and replies that quote them in full and add a few words."""
    posts = [(n, f"user{n}", words(f"post {n}", 80)) for n in range(20)]
    replies = [(20 + n, f"user{n + 1}", f"{text} {words(f'reply {n}', 6)}") for n, _, text in posts]
    return [{"post_id": n, "author": by, "text": text, "thing": n} for n, by, text in [*posts, *replies]]


def syndicated(_: int) -> list[Item]:
    """Stories at four sites each, with other dates, authors and sections."""
    return [
        {"url": f"https://site{site}.example/{n}", "text": words(f"wire {n}", 200), "author": f"Editor {site}"}
        | {"date": f"2026-11-{site + 10}", "section": f"section {site}", "thing": n}
        for n in range(15)
        for site in range(4)
    ]


# What only a field says that nobody looked at before


def podcast(_: int) -> list[Item]:
    """Episodes that have one page, title and text, each with its own sound, some of them listed again."""
    return [
        {"url": _url("show"), "title": "The show", "text": words("show", 120), "thing": n}
        | {"audio_url": f"https://cdn{again}.example/play/{n}/episode.mp3?listener={again}", "position": n + 30 * again}
        for again in range(2)
        for n in range(30 - 20 * again)
    ]


def prints(_: int) -> list[Item]:
    """Prints without a title, each with its own pictures, and once more with one of them, in another size."""
    return [
        {
            "url": f"{_url(n)}?{form}",
            "title": "Untitled",
            "text": words("print", 40),
            "thing": n,
            "image_urls": images,
        }
        for n in range(8)
        for form, images in (
            ("", [f"https://a.example/img/{n}.jpg", f"https://a.example/img/{n}-back.jpg", "/img/frame.png"]),
            ("view=small", [f"https://cdn.example/img/{n}-300x200.jpg"]),
        )
    ]


def fetched(_: int) -> list[Item]:
    """Cards of a catalogue with pictures that a pipeline has fetched from two addresses."""
    return [
        {"url": f"{_url(n)}{form}", "text": words("card", 60), "image_urls": [f"/{form}{n}.jpg"], "thing": n}
        | {"images": [{"url": f"/{form}{n}.jpg", "path": f"full/{form}{n}.jpg", "checksum": f"{n:032x}"}]}
        for n in range(10)
        for form in ("", "?view=full")
    ]


# Between sites


# What other value a thing of each kind has.
VALUES: dict[str, Callable[[int], Any]] = {
    "ingredients": lambda n: ", ".join(f"{n + part} g of {words(part, 2)}" for part in range(12)),
    "scan": lambda n: b"%d" % n,
    "stops": lambda n: [f"stop {k + n * (k == 20)}" for k in range(30)],
    "departures": lambda n: [{"stop": k, "minute": k + n * (k == 20)} for k in range(25)],
    "specs": lambda n: {f"part {k}": k + n * (k == 110) for k in range(120)},
    "ld": lambda n: {"a": {"b": [{"c": {"d": {"e": {"seat": n}}}}]}},
    "video_url": lambda n: f"https://films.example/watch?v={n}",
    "minutes_pdf": lambda n: f"https://city.example/download.pdf?doc={n}",
    "embed": lambda n: f"https://films.example/embed/{n}",
    "website": lambda n: f"https://shop{n}.example/",
    "phone": lambda n: f"tel:+4144123456{n}",
    "note": lambda n: f"https://t.example/rooms Room {n}",
    "summary": lambda n: f"Course number {n} for all who want to swim. {words('course', 20)}",
    "depth": lambda n: n + 1,
    "title": lambda n: f"Algebra {'I' * (n + 1)}",
    "name": lambda n: f"Vase - {words(n, 1)}",
    "version": lambda n: ("1.1", "1.10", "1.2", "1.20")[n],
    "score": lambda n: {words((n, 1), 1): 3, words((n, 2), 1): 1},
    "contact": lambda n: {"website": f"www.shop{n}.example"},
    "tickets": lambda n: f"https://tickets.example/buy?event={n}",
    "agenda": lambda n: f"https://city.example/agenda.pdf?meetingId={n}",
    "description": lambda n: f"The {words(n, 1)} room looks out on the sea and has a shower, {words('room', 12)}",
    "filename": lambda n: f"tool-1.{n}-linux.tar.gz",
}


def told_by_a_value(_: int) -> list[Item]:
    """Things of one text that one value of any kind tells apart, each at two addresses."""
    return [
        {"url": f"{_url(name)}/{n}{form}", "text": words(name, 60), name: value(n), "thing": f"{name} {n}"}
        for name, value in VALUES.items()
        for n in range(4)
        for form in ("", "/print")
    ]


TOWNS = ("Bern", "Basel", "Chur", "Biel", "York", "New York")
# What another thing has in a field at its own site, and on a portal.
VALUES_BETWEEN_SITES: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "city": lambda n: (TOWNS[n], f"{TOWNS[n]}, Switzerland"),
    "address": lambda n: (f"Bahnhofstrasse 1, {TOWNS[n]}",) * 2,
    "standort": lambda n: (TOWNS[n], TOWNS[n]),
    "工作地点": lambda n: ("北京上海广州成都武汉西安"[2 * n : 2 * n + 2],) * 2,
    "date": lambda n: (f"2026-05-{n + 1:02}", f"{n + 1} May 2026, 19:30"),
    "start": lambda n: (f"2026-05-{n + 1:02}", f"{n + 1:02}.05.2026"),
    "startTime": lambda n: (f"2026-05-{n + 2:02}T00:30:00+02:00", f"2026-05-{n + 1:02}T22:30:00Z"),
    "deadline": lambda n: (f"{n + 1}. Mai 2026",) * 2,
    "rent": lambda n: (900 + n, 900 + n),
}


def told_between_sites(_: int) -> list[Item]:
    """Things of one text on sites of their own, each also on a portal."""
    return [
        {"url": f"https://{site}.example/{name}/{n}", "title": "The club", "text": words(name, 60), name: value}
        | {"country": "Switzerland", "thing": f"{name} {n}"}
        for name, values in VALUES_BETWEEN_SITES.items()
        for n in range(6)
        for site, value in zip((f"club{n}", "portal"), values(n), strict=True)
    ]


def masters(_: int) -> list[Item]:
    """Sizes of a shirt, and the shirt, which has none."""
    return [
        {"url": f"{_url('shirt')}?{size}", "text": words("shirt", 60), "thing": size} | ({"size": size} if size else {})
        for size in ("S", "M", "L", "")
    ]


def vacancies(_: int) -> list[Item]:
    """Jobs of one text at several places, at the company and on a board, where they were posted on another day."""
    return [
        {"url": f"https://{site}.example/job/{n}", "title": "Nurse", "description": words("nurse", 150), "thing": n}
        | {"jobLocation": {"address": {"addressLocality": town}}, "datePosted": f"2026-11-{day + n:02}"}
        for n, town in enumerate(("Bern", "Basel", "Chur", "Biel", "Thun", "Brig", "Sion"))
        for site, day in (("company", 1), ("board", 9))
    ]


def agency_stories(_: int) -> list[Item]:
    """Stories with a dateline that papers print on other days, under their own headlines, with their own pictures."""
    return [
        {
            "url": f"https://paper{paper}.example/{n}",
            "title": f"{words(n, 5)} {paper}",
            "text": words(n, 250),
            "thing": n,
        }
        | {"place": "Geneva", "date": f"2026-11-{paper + 10}", "image": f"https://paper{paper}.example/{n}/{paper}.jpg"}
        for n in range(10)
        for paper in range(4)
    ]


# Copies that have other values, and are copies


def other_forms(_: int) -> list[Item]:
    """Stories with their pages for printing, for phones, of a session and of a mirror."""
    forms = (("news.example", ""), ("news.example", "/print"), ("amp.news.example", "/amp"), ("news.example", "?sid=9"))
    return [
        {
            "url": f"https://{host}/{n}{form}",
            "link": f"{n}-{form[1:4]}.html",
            "title": words(n, 6),
            "body": words(n, 200),
        }
        | {"author": "Ann", "summary": words(n, 40), "thing": n, "item_index": 10 * n + place, "views": 10 * place}
        | {"image": f"https://{host}/img/{n}{'-640x480' * (place == 2)}.jpg", "scraped": time.time(), "og_title": form}
        for n in range(10)
        for place, (host, form) in enumerate((*forms, ("mirror.example", "")))
    ]


def redirected(_: int) -> list[Item]:
    """Articles whose address is their key, with an older address of theirs, which has another slug."""
    return [
        {"url": f"{_url(n)}/{slug}", "permalink": f"story-{slug}.html", "href": f"{slug}/{n}", "content": words(n, 90)}
        | {"thing": n}
        for n in range(10)
        for slug in ("bridge", "harbour-bridge")
    ]


# Texts without a usual name


def one_headline(name: str) -> Callable[[int], list[Item]]:
    """Articles under one headline whose text has a name of its own, or stands in a list; every fourth is a copy."""

    def articles(_: int) -> list[Item]:
        texts = [words(f"{name} {n - (n % 4 == 3)}", 120) for n in range(24)]
        return [
            {"url": _url(n), "headline": "Live: the storm", name: text.split(" the ") if name == "parts" else text}
            | {"bio": words("bio", 20), "thing": n - (n % 4 == 3)}
            for n, text in enumerate(texts)
        ]

    return articles


def mugs(_: int) -> list[Item]:
    """Mugs whose short descriptions differ in a word, with the policy of the shop, which is longer."""
    return [
        {"url": _url(n), "description": f"A mug with a {words(n, 1)}, {words('mug', 20)}", "returns": words("shop", 90)}
        | {"thing": n}
        for n in range(6)
    ]


def posts_with_links(_: int) -> list[Item]:
    """Posts that begin with an address, each on two pages, with what the author says of herself."""
    return [
        {"url": _url(f"{page}/{n}"), "post": f"https://t.example/{n} {words(n, 60)}", "bio": words("bio", 25)}
        | {"thing": n}
        for n in range(6)
        for page in range(2)
    ]


def quoting_oneself(_: int) -> list[Item]:
    """Posts, some of them posted again under another number of the page."""
    return [
        {"url": f"{_url('thread')}?page={page}", "author": f"user{n}", "message": words(f"post {n}", 80), "thing": n}
        for page in range(2)
        for n in range(20 - 10 * page)
    ]


def _article(number: int, thing: int) -> Item:
    return {"url": _url(number), "text": words(thing, 200), "thing": thing}


def _url(number: object) -> str:
    return f"https://example.com/{number}"


class FillIn:
    """Fills in the text, as pipelines of projects do."""

    def process_item(self, item: Item) -> Item:
        """Take the text from another field."""
        return item | {"text": item.pop("filled", item["text"])}


class Validate:
    """That of Scrapy's documentation."""

    def process_item(self, item: Item) -> Item:
        """Refuse an item without stock."""
        if not item.get("stock"):
            raise DropItem("no stock", log_level="DEBUG")
        return item


class Shape(NamedTuple):
    """A project.

    Attributes:
        items: gives what it yields on a day.
        settings: its settings.
        missed: how many copies are stored besides what they are copies of.
    """

    items: Callable[[int], list[Item]]
    settings: dict[str, Any] = {}  # noqa: RUF012 -- nobody changes it
    missed: int = 0


SHAPES = {
    "text made by a pipeline at 100": Shape(filled_in, {"ITEM_PIPELINES": {FillIn: 100}}),
    "validation at 800": Shape(refused, {"ITEM_PIPELINES": {Validate: 800}}),
    "comments and topics": Shape(comments),
    "products with one description": Shape(described),
    "items without URL": Shape(moving),
    "stories with updates": Shape(updated),
    "jobs by place": Shape(jobs),
    "flats of a house": Shape(flats),
    "variants, a row each": Shape(rows),
    "replies that quote": Shape(replies),
    "stories at four sites": Shape(syndicated),
    "episodes of a podcast": Shape(podcast),
    "prints without a title": Shape(prints),
    "things told by a value": Shape(told_by_a_value),
    "things told between sites": Shape(told_between_sites),
    "a thing that may be any of several": Shape(masters),
    "checksums of pictures": Shape(fetched),
    "a company and a job board": Shape(vacancies),
    "agency stories": Shape(agency_stories),
    "print, amp, session and mirror": Shape(other_forms),
    "redirects with another slug": Shape(redirected),
    "descriptions below a policy": Shape(mugs),
    "posts that begin with an address": Shape(posts_with_links),
    "posts on two pages": Shape(quoting_oneself),
    **{f"text named {name}": Shape(one_headline(name)) for name in ("paragraphs", "story", "report", "parts")},
}
"""The shapes."""
