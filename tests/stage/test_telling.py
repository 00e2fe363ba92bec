"""What the stage says of items: marks, signals, the log; and of those that it cannot read."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import scrapy
from scrapy.crawler import Crawler

from dedup.rules.table import Rule
from dedup.stage.pending import document_dropped, document_kept
from tests.crawling import Outcome, crawl_here
from tests.passing import ADDONS, FORM, A, B, ItemsSpider, four, url
from tests.texts import filled_in

pytestmark = pytest.mark.slow

PassOn = Callable[..., Outcome]


@dataclass
class Book:
    id_: int
    content: str


def test_marks_go_into_the_item_and_nothing_is_dropped(pass_on: PassOn) -> None:
    outcome = pass_on(four(), {"DEDUP_MARK_ONLY": True, "DEDUP_MARK_FIELD": "copy"})
    assert len(outcome.items) == 4
    marks = [item["copy"] for item in outcome.items]
    assert [mark["verdict"] for mark in marks] == ["new", "new", "exact duplicate", "near duplicate"]
    assert [mark["original"] for mark in marks] == [None, None, url(0), url(0)]
    assert outcome.count("dedup/marked") == 2
    assert outcome.count("dedup/text_bytes_dropped") == 0


def test_what_is_similar_is_marked_too(pass_on: PassOn) -> None:
    items = [{"url": url(n), "text": text} for n, text in enumerate((FORM, filled_in(FORM)))]
    outcome = pass_on(items, {"DEDUP_MARK_ONLY": True, "DEDUP_MARK_FIELD": "copy"})
    mark = outcome.items[1]["copy"]
    assert (mark["verdict"], mark["original"]) == ("similar", url(0))
    assert 0 < mark["similarity"] < 1
    assert (outcome.count("dedup/marked"), outcome.count("dedup/similar")) == (0, 1)


class Seen:
    """A pipeline behind the stage that looks at marks in the response's meta."""

    marks: dict[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Seen:
        crawler.signals.connect(cls.look, scrapy.signals.item_scraped)
        cls.marks = {}
        return cls()

    @classmethod
    def look(cls, response: Any) -> None:
        cls.marks |= response.meta.get("dedup", {})

    def process_item(self, item: Any) -> Any:
        return item


def test_marks_stand_beside_items_that_are_left_as_they_are(pass_on: PassOn) -> None:
    items = [Book(n, text) for n, text in enumerate((A, B, A))]
    outcome = pass_on(items, {"DEDUP_MARK_ONLY": True, "ITEM_PIPELINES": {Seen: 900}})
    assert outcome.items == items
    assert list(Seen.marks) == ["items:2"]
    assert Seen.marks["items:2"]["original"] == "items:0"


class WithMeta(ItemsSpider):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request("data:text/plain,x", self.parse, meta={"dedup": True})


def test_marks_leave_alone_what_a_project_has_in_their_place(sqlite_url: str) -> None:
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": sqlite_url, "DEDUP_MARK_ONLY": True}
    outcome = crawl_here(WithMeta, settings, items=four())
    assert (len(outcome.items), outcome.failed) == (4, 0)


class Listening:
    """An extension that hears what becomes of documents."""

    heard: list[tuple[str, Any, str]]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Listening:
        cls.heard = []
        extension = cls()
        crawler.signals.connect(extension.kept, document_kept)
        crawler.signals.connect(extension.dropped, document_dropped)
        return extension

    def kept(self, item: Any, decision: Any, response: Any, spider: Any) -> None:
        assert response.url.startswith("data:")
        self.heard.append(("kept", item["url"], decision.verdict.value))

    def dropped(self, item: Any, decision: Any, response: Any, spider: Any) -> None:
        assert spider.name == "items"
        self.heard.append(("dropped", item["url"], decision.original))


def test_signals_say_what_becomes_of_documents(pass_on: PassOn) -> None:
    pass_on(four(), {"EXTENSIONS": {Listening: 1}})
    assert Listening.heard == [
        ("kept", url(0), "new"),
        ("kept", url(1), "new"),
        ("dropped", url(2), url(0)),
        ("dropped", url(3), url(0)),
    ]


def test_what_is_similar_passes_and_one_line_says_what_it_resembles(
    pass_on: PassOn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "dedup.stage.pending")
    items = [{"url": url(n), "text": text} for n, text in enumerate((FORM, filled_in(FORM)))]
    outcome = pass_on(items, {"DEDUP_MARK_FIELD": "mark", "EXTENSIONS": {Listening: 1}})
    assert [item["mark"]["verdict"] for item in outcome.items] == ["new", "similar"]
    assert Listening.heard == [("kept", url(0), "new"), ("kept", url(1), "similar")]
    assert (outcome.count("dedup/new"), outcome.count("dedup/similar")) == (1, 1)
    assert outcome.count("dedup/text_bytes_dropped") == 0
    [told] = [record for record in caplog.records if "similar to" in record.getMessage()]
    assert told.levelname == "DEBUG"
    kept = rf"kept {url(1)}: similar to {url(0)}, \d\d% alike: {re.escape(Rule.REPLACED.says)}"
    assert re.fullmatch(kept, told.getMessage())


def test_warning_names_the_field_in_which_there_is_no_text(pass_on: PassOn) -> None:
    items = [
        {"name": "Town", "description": ""},
        {"name": "A", "description": A},
        {"title": "T", "files": []},
        {"title": "Summer", "text": None, "body": [], "note": "it was warm"},
    ]
    told = [message for message in pass_on(items).messages if "was not examined" in message]
    assert told == [
        f"1 item (of 4 items in all) was not examined for duplicates: no text in {empty}. Their fields: {fields}. "
        "If the text is in another one, name that: DEDUP_TEXT_FIELD = 'NAME'"
        for empty, fields in (
            ("description", "name, description"),
            ("files", "title, files"),
            ("text, body", "title, text, body, note"),
        )
    ]


class Forgetful:
    """A pipeline that forgets to return the item."""

    def __init__(self, result: Any = None) -> None:
        self.result = result

    def process_item(self, item: Any) -> Any:
        return self.result


class Stringly(Forgetful):
    """A pipeline that makes strings of items."""

    def __init__(self) -> None:
        super().__init__("text")


@pytest.mark.parametrize("earlier", [Forgetful, Stringly])
def test_output_that_is_no_item_passes_and_an_unknown_setting_is_named(earlier: type, pass_on: PassOn) -> None:
    settings = {"ITEM_PIPELINES": {earlier: 100}, "DEDUP_AFTER": [earlier], "DEDUP_TXT_FIELD": "a"}
    outcome = pass_on(four(), settings)
    assert "DEDUP_TXT_FIELD is no setting of dedup: is DEDUP_TEXT_FIELD meant?" in outcome.messages
    assert (len(outcome.items), outcome.failed, outcome.tracebacks) == (4, 0, [])
    [warning] = [message for message in outcome.messages if "not examined for duplicates: no item" in message]
    assert "has to stand before the pipeline that makes them" in warning


@dataclass
class Draft:
    url: str
    text: str = field(init=False)
    canonical: str = field(init=False)
    signature: str = field(init=False)


def test_fields_that_were_never_set_are_not_there(pass_on: PassOn) -> None:
    drafts = [Draft(url(n)) for n in range(3)]
    for draft in drafts[1:]:
        draft.text = A
    outcome = pass_on(drafts)
    assert [draft.url for draft in outcome.items] == [url(0), url(1)]
    assert (outcome.failed, outcome.kinds_of_drops) == (0, {"ExactDuplicate": 1})
    assert any("no text. Their fields: url. Name" in message for message in outcome.messages)


def _missing(item: Any) -> Any:
    return item["story"]


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("settings", "key", "raised"),
    [
        ({"DEDUP_TEXT_FIELD": _missing}, url(1), "KeyError"),
        ({"DEDUP_TITLE_FIELD": _missing}, url(1), "KeyError"),
        ({"DEDUP_KEY_FIELD": _missing}, url(1), "KeyError"),
        ({"DEDUP_FOLLOW_DUPLICATES": False}, Unspeakable(), "RuntimeError"),
    ],
)
def test_item_that_cannot_be_read_passes(settings: dict[str, Any], key: Any, raised: str, pass_on: PassOn) -> None:
    outcome = pass_on([{"url": key, "text": A}] * 30, settings)
    assert (len(outcome.items), outcome.failed, outcome.count("dedup/not_examined")) == (30, 0, 30)
    told = [message for message in outcome.messages if raised in message]
    assert len(told) == 3
    assert told[-1].startswith(
        f"30 items (of 30 items in all) were not examined for duplicates: reading their fields raised {raised}."
    )
