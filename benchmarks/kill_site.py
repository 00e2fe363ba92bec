"""A web site to be crawled again and again: copies, redirects, errors, slow answers; and the truth about it."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from multiprocessing.sharedctypes import Synchronized
from typing import NamedTuple
from zlib import crc32

from sqlalchemy import Connection, text

from benchmarks.site import answer_requests, in_process, reply
from benchmarks.texts import english

_LINKS_OF_A_HUB = 40
_SENTENCES_CHANGED = 2
_LINK = re.compile(rb'href="(/[^"]*)"')

WORKER_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CRAWLER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "DEDUP_WORKERS": "1",
    "LOG_LEVEL": "ERROR",
}
"""Those of a worker that crawls hosts of this machine."""

LONGEST_CRAWL = 1800
"""Seconds after which a crawl is given up."""

# Shares of the pages; what is left are pages of their own.
_SHARES = {
    "exact": 0.12,
    "near": 0.12,
    "redirect": 0.06,
    "gone": 0.03,
    "flaky": 0.04,
    "broken": 0.01,
    "slow": 0.05,
    "empty": 0.01,
    "loop": 0.01,
}


class Answer(NamedTuple):
    """What the server says to a path.

    Attributes:
        status: of the reply.
        body: of the reply.
        location: where a redirect leads; "" for none.
        stall: seconds before anything is sent.
        failures: how often it says 500 first.
    """

    status: int = 200
    body: bytes = b""
    location: str = ""
    stall: float = 0.0
    failures: int = 0


@dataclass
class Site:
    """A site, and what is to become of it.

    Attributes:
        answers: what the server says, by path.
        clusters: the pages with a text, each by its cluster: pages of one cluster are copies.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)


def make_site(pages: int, seed: int) -> Site:
    """Make a site of so many addresses, besides the hubs that link to all of them.

    Every page is linked from a hub, and hubs are copies of nothing: whichever of two copies is
    kept, all pages are found. The targets of some redirects are linked from nowhere else.
    """
    chance = random.Random(seed)
    kinds = [kind for kind, share in _SHARES.items() for _ in range(round(share * pages))]
    kinds += ["own"] * (pages - len(kinds))
    chance.shuffle(kinds)
    hubs = -(-pages // _LINKS_OF_A_HUB)
    texts = iter(_shuffled(english(pages + hubs + 1), chance))
    site = Site()
    originals: list[tuple[str, str]] = []  # path and text
    linked: list[str] = []
    for number, kind in enumerate(kinds):
        path = f"/{kind}/{number}"
        linked.append(path)
        if kind in ("exact", "near") and originals:
            original, text = chance.choice(originals)
            _add_page(site, path, text if kind == "exact" else edited(text, chance), linked, chance, of=original)
        elif kind == "redirect":
            target = path
            if chance.random() < 0.5:  # in two steps
                target = f"/step/{number}"
                site.answers[path] = Answer(302, location=target)
            site.answers[target] = Answer(301, location=f"/moved/{number}")
            _add_page(site, f"/moved/{number}", next(texts), linked, chance)
        elif kind == "loop":
            site.answers[path] = Answer(302, location=f"/back/{number}")
            site.answers[f"/back/{number}"] = Answer(302, location=path)
        elif kind == "gone":
            site.answers[path] = Answer(404)
        elif kind == "empty":
            site.answers[path] = Answer(body=b" ")
        elif kind == "broken":
            site.answers[path] = Answer(500)
        else:
            text = next(texts)
            _add_page(site, path, text, linked, chance)
            stall = chance.uniform(0.2, 1.0) if kind == "slow" else 0.0
            site.answers[path] = site.answers[path]._replace(stall=stall, failures=int(kind == "flaky"))
            originals.append((path, text))
    _add_hubs(site, linked, hubs, texts, chance)
    return site


class Served(NamedTuple):
    """A site that is served.

    Attributes:
        url: its front page.
        hosts: those that it is spread over.
        asked: the number of requests so far.
    """

    url: str
    hosts: list[str]
    asked: Synchronized[int]


@contextmanager
def serve(site: Site, hosts: int = 1) -> Iterator[Served]:
    """Serve a site in a process of its own.

    Args:
        site: the site.
        hosts: how many hosts its pages are spread over: 127.0.0.1, 127.0.0.2 and so on.
    """
    asked = multiprocessing.get_context("spawn").Value("i", 0)
    names = [f"127.0.0.{number}" for number in range(1, hosts + 1)]
    with in_process(_serve, site.answers, names, asked) as port:
        yield Served(f"http://{names[0]}:{port}/", names, asked)


def _add_hubs(site: Site, linked: list[str], hubs: int, texts: Iterator[str], chance: random.Random) -> None:
    parts = [linked[number::hubs] for number in range(hubs)]
    for number, part in enumerate(parts):
        # From one hub to the next, so that a crawl has a depth.
        following = [f"/hub/{2 * number + step}" for step in (1, 2) if 2 * number + step < hubs]
        _add_page(site, f"/hub/{number}", next(texts), [], chance, links=[*following, *part])
    _add_page(site, "/", next(texts), [], chance, links=["/hub/0"])


def _add_page(
    site: Site,
    path: str,
    text: str,
    linked: list[str],
    chance: random.Random,
    *,
    of: str | None = None,
    links: list[str] | None = None,
) -> None:
    links = chance.sample(linked, min(3, len(linked))) if links is None else links
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    paragraphs = "".join(f"<p>{sentence}.</p>" for sentence in text.split(". "))
    body = (
        f'<!DOCTYPE html><html lang="en"><head><title>{of or path}</title></head>'
        f"<body><nav><ul>{anchors}</ul></nav><article>{paragraphs}</article></body></html>"
    )
    site.answers[path] = Answer(body=body.encode())
    site.clusters[path] = of or path


def drops_in(connection: Connection) -> list[tuple[str, str]]:
    """Return the URL of each page that was dropped, and that of its original."""
    query = "SELECT d.key, o.key FROM dedup_documents d JOIN dedup_documents o ON o.id = d.leader_id"
    return [(copy, original) for copy, original in connection.execute(text(query))]


def edited(text: str, chance: random.Random) -> str:
    """Return a text with other sentences at its end, as an editor's note is."""
    sentences = text.split(". ")
    return ". ".join(sentences[:-_SENTENCES_CHANGED]) + f". Reprinted by permission of reader {chance.random()}"


def _shuffled(texts: list[str], chance: random.Random) -> list[str]:
    chance.shuffle(texts)
    return texts


def _serve(answers: dict[str, Answer], names: list[str], asked: Synchronized[int], pipe: Pipe) -> None:
    hits: Counter[str] = Counter()
    port = 0

    def address_of(path: str) -> str:
        # The front page is where the crawl starts.
        return f"http://{names[crc32(path.encode()) % len(names) if path != '/' else 0]}:{port}{path}"

    def spread(found: Answer) -> Answer:
        if len(names) == 1:
            return found
        body = _LINK.sub(lambda link: b'href="%b"' % address_of(link[1].decode()).encode(), found.body)
        return found._replace(body=body, location=address_of(found.location) if found.location else "")

    async def answer(_place: int, path: str, _request: bytes) -> bytes:
        found = answers.get(path, Answer(404))
        hits[path] += 1
        with asked.get_lock():
            asked.value += 1
        await asyncio.sleep(found.stall)
        found = Answer(500) if hits[path] <= found.failures else spread(found)
        return reply(found.body, found.status, location=found.location)

    def tell(found: int) -> None:
        nonlocal port
        port = found
        pipe.send(port)

    answer_requests(names, answer, tell)
