"""Sets of pages: originals on a site, and copies there and on others, after edits that a reader would not miss."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import jieba

from benchmarks.labelled.pages import PARAGRAPH, ROW, Block, Page, Site, a_date, page_html, site_of
from benchmarks.labelled.sets import COPY, OTHER, LabelledWriter, hardest_pairs

jieba.setLogLevel(logging.WARNING)

Edit = Callable[[Page, Random, str], Page]

_WORD = re.compile(r"[a-zäöüß]{4,}")
_HAN = re.compile(r"[\u4e00-\u9fff]{1,3}")
_FEWEST_WORDS_TO_EDIT = 12

# Without these a sentence says the contrary.
_NEVER_EDITED = """
without nicht keine keinen keiner ohne nein never none neither except unless außer weder nie
mindestens höchstens least most more less mehr weniger before after vor nach 不 没 没有 无 未 不得 不能 不可 勿
禁止 非 除 除外 以上 以下 前 后 以内
"""
_NEVER = frozenset(_NEVER_EDITED.split())

_BANNERS = {
    "en": "This is a mirror of a page that is published elsewhere.|Copied from the original with the consent of the "
    "publisher.|You are reading an archived copy of this page.",
    "de": "Dies ist der Spiegel einer Seite, die an anderer Stelle erscheint.|"
    "Übernommen mit Zustimmung des Herausgebers.|"
    "Sie lesen eine archivierte Kopie dieser Seite.",
    "zh": "本页为其他网站内容的镜像。|本文转载自原发布单位，版权归原作者所有。|您正在阅读的是本页的存档副本。",
}
_SOURCES = {
    "en": "Source: {host}, retrieved on {date}.",
    "de": "Quelle: {host}, abgerufen am {date}.",
    "zh": "来源：{host}，访问日期：{date}。",
}
_VISITS = {
    "en": "Your visit on {date}, session {session}.",
    "de": "Ihr Besuch am {date}, Sitzung {session}.",
    "zh": "访问日期：{date}，会话编号：{session}。",
}

_MOST_OF_A_LABEL = 60
_MOST_OF_SERIES = 20
_LEAST_ALIKE = 0.35
_ON_THE_SAME_SITE = 0.5


def same(page: Page, random: Random, language: str) -> Page:
    """Change nothing: what changes is the frame."""
    return page


def session(page: Page, random: Random, language: str) -> Page:
    """Add the day of the visit and a session's number."""
    number = hashlib.sha256(str(random.random()).encode()).hexdigest()[:16]
    line = _VISITS[language].format(date=a_date(language, random), session=number)
    return _put(page, line, random.choice([0, len(page.blocks)]))


def mirrored(page: Page, random: Random, language: str) -> Page:
    """Put a banner before it and the source after it."""
    host = f"www.{random.choice(['example', 'mirror', 'pages', 'infos'])}{random.randint(1, 99)}.example"
    source = _SOURCES[language].format(host=host, date=a_date(language, random))
    return _put(_put(page, _one(_BANNERS, language, random), 0), source, len(page.blocks) + 1)


def words(page: Page, random: Random, language: str) -> Page:
    """Edit two to nine of a hundred words; figures, names and what a sentence turns on stay."""
    every = [
        word for block in page.blocks for word in _tokens(block.text, language) if _may_change(word, page, language)
    ]
    if len(every) < _FEWEST_WORDS_TO_EDIT:
        return page
    # The share is that of all words, also of those that may not change.
    chance = min(0.9, random.uniform(0.02, 0.09) * sum(map(_is_word, _tokens(page.text, language))) / len(every))
    blocks = []
    for block in page.blocks:
        changed = []
        for word in [] if block.kind == ROW else _tokens(block.text, language):
            if random.random() < chance and _may_change(word, page, language):
                changed.append(_changed(word, every, random))
            else:
                changed.append(word)
        blocks.append(block if block.kind == ROW else Block(block.kind, ("".join(changed),)))
    return replace(page, blocks=tuple(blocks))


def trimmed(page: Page, random: Random, language: str) -> Page:
    """Keep the first two thirds to nine tenths of it."""
    left = random.uniform(0.66, 0.92) * sum(len(block.text) for block in page.blocks)
    kept: list[Block] = []
    for block in page.blocks:
        if left <= 0:
            break
        text = block.text
        if block.kind == PARAGRAPH and len(text) > left:
            # Chinese has spaces at names only, or none.
            begun = text[: int(left)]
            begun = begun.rpartition(" ")[0] if " " in begun[-20:] else begun
            kept.append(Block(PARAGRAPH, (f"{begun} …",)))
        else:
            kept.append(block)
        left -= len(text)
    return replace(page, blocks=tuple(kept))


def _put(page: Page, line: str, at: int) -> Page:
    return replace(page, blocks=(*page.blocks[:at], Block(PARAGRAPH, (line,)), *page.blocks[at:]))


def _changed(word: str, every: list[str], random: Random) -> str:
    dice = random.random()
    if dice < 0.35:
        return ""
    if dice < 0.75 and len(word) > 1:
        at = random.randrange(len(word) - 1)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return random.choice(every)


def _may_change(word: str, page: Page, language: str) -> bool:
    if word in _NEVER or word in page.title or word in page.kept:
        return False
    return bool((_HAN if language == "zh" else _WORD).fullmatch(word))


def _tokens(text: str, language: str) -> list[str]:
    return jieba.lcut(text) if language == "zh" else re.findall(r"\w+|\W+", text)


def _is_word(token: str) -> bool:
    return token[0].isalnum()


def _one(choices: dict[str, str], language: str, random: Random) -> str:
    return random.choice(choices[language].split("|"))


COPIES: dict[str, Edit] = {
    "frame": same,
    "print": same,
    "session": session,
    "words": words,
    "trimmed": trimmed,
    "mirror": mirrored,
}
"""Edits that make copies, by the kind of the pair."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a set: its key, its page, and what series it is of, "" if of none."""

    key: str
    page: Page
    series: str = ""


@dataclass
class PageSet:
    """Fills a set with pages.

    Attributes:
        writer: the set.
        documents: all documents that are no copies.
        home: the site that they are on.
        name: what is random in it is the same for the same name.
    """

    writer: LabelledWriter
    documents: Sequence[Document]
    home: Site
    name: str

    def __post_init__(self) -> None:
        self._copies: dict[str, str] = {}

    def add_originals(self) -> None:
        """Add all documents."""
        for each in self.documents:
            self._add(each.key, each.key, each.page, self.home)

    def add_copies(self) -> None:
        """Add two copies of each document, until there are enough."""
        kinds = list(COPIES)
        for at, each in enumerate(self.documents[: _MOST_OF_A_LABEL // 2]):
            random = Random(f"copies {self.name} {each.key}")
            for of in range(2):
                self._add_copy(each, kinds[(2 * at + of + at // 5) % len(kinds)], random, of)

    def add_others(self) -> None:
        """Pair different documents that are most alike, most of them as they are, a fifth with a copy of the other."""
        series = {each.key: each.series for each in self.documents}
        hard = hardest_pairs([(each.key, each.page.text) for each in self.documents], _LEAST_ALIKE)
        in_series = [pair for pair in hard if series[pair[0]] and series[pair[0]] == series[pair[1]]][:_MOST_OF_SERIES]
        rest = [pair for pair in hard if pair not in in_series]
        most = _MOST_OF_A_LABEL - len(in_series)
        # Most of them from the most alike, where labels are hardest to tell.
        chosen = rest if len(rest) <= most else [rest[at * at * len(rest) // most**2] for at in range(1, most)]
        for a, b in in_series:
            self.writer.add_pair(a, b, OTHER, "next of a series")
        for at, (a, b) in enumerate(chosen):
            if at % 5 == 4 and b in self._copies:
                self.writer.add_pair(a, self._copies[b], OTHER, "other record, changed")
            else:
                self.writer.add_pair(a, b, OTHER, "other record")

    def _add_copy(self, document: Document, kind: str, random: Random, of: int) -> None:
        copy = COPIES[kind](document.page, random, self.writer.language)
        # An edit may be on the same site, where the frame stays but for what it names of others.
        has_moved = kind in ("frame", "print", "mirror") or random.random() >= _ON_THE_SAME_SITE
        layout = "print" if kind == "print" else None
        site = site_of(self.writer.language, f"{self.name} {document.key} {of}", layout) if has_moved else self.home
        key = f"{document.key}-{kind}{of}"
        self._add(key, document.key, copy, site)
        self.writer.add_pair(document.key, key, COPY, f"{kind}, other site" if has_moved else kind)
        self._copies[document.key] = key

    def _add(self, key: str, cluster: str, page: Page, site: Site) -> None:
        others = [each.page for each in self.documents if each.key != cluster]
        self.writer.add_page(key, page_html(page, site, others, f"{self.name} {key}"), cluster)
