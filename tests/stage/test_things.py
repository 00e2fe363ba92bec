"""Items of the shapes of real projects: what is one thing, and what another with the same text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import scrapy

from tests.crawling import Outcome, crawl_here
from tests.passing import ADDONS, NEAR_A, A, B, four, url, urls
from tests.texts import document

pytestmark = pytest.mark.slow

PassOn = Callable[..., Outcome]


SHARED = document(30, "shared by many")
WALL = document(80, "a wall before each story")


def test_quotes_without_an_address_are_told_apart_by_their_text(pass_on: PassOn) -> None:
    quotes = [{"text": f"Quote number {n}", "author": "a", "tags": ["t"]} for n in (1, 2, 3, 1, 2)]
    outcome = pass_on(quotes)
    assert [item["text"][-1] for item in outcome.items] == ["1", "2", "3", "1", "2"]
    assert (outcome.count("dedup/new"), outcome.count("dedup/similar")) == (3, 2)
    again = pass_on(quotes)
    assert [item["text"][-1] for item in again.items] == ["1", "2", "3", "1", "2"]
    assert (again.count("dedup/unchanged"), again.count("dedup/similar")) == (3, 2)


@pytest.mark.parametrize(
    ("key", "kept"),
    [({}, 3), ({"url": "data:text/plain,x"}, 3), ({"url": url("topic")}, 3), ({"sku": 7}, 2)],
    ids=["none", "the page", "that of all", "its own"],
)
def test_few_words_twice_on_one_page_are_two_items_unless_their_key_is_their_own(
    key: dict[str, Any], kept: int, pass_on: PassOn
) -> None:
    comments = [{**key, "text": text, "position": n} for n, text in enumerate(("Thanks for this one", "+1", "+1"))]
    if "sku" in key:
        comments[0]["sku"] = 6
    for _ in range(2):
        assert len(pass_on(comments).items) == kept


def test_several_items_of_a_page_under_its_address_are_items_of_their_own(pass_on: PassOn) -> None:
    outcome = pass_on([{"url": url(1), "text": text} for text in (A, B, A, NEAR_A)])
    assert [item["text"] for item in outcome.items] == [A, B]
    assert outcome.kinds_of_drops == {"ExactDuplicate": 1, "NearDuplicate": 1}
    assert outcome.count("dedup/updated") == 0
    assert len([message for message in outcome.messages if "several texts under one key" in message]) == 1


def test_a_changed_item_is_updated_where_keys_are_unique(pass_on: PassOn) -> None:
    items = [{"url": url(1), "text": text} for text in (A, B)]
    outcome = pass_on(items, {"DEDUP_SAME_KEY": "update"})
    assert (len(outcome.items), outcome.count("dedup/updated")) == (2, 1)


@dataclass
class Book:
    id_: int
    content: str


@dataclass
class Author:
    id_: int
    content: str


def test_keys_of_different_classes_do_not_meet(pass_on: PassOn) -> None:
    items = [Book(1, A), Author(1, B), Book(2, document := A + " end"), Author(2, B)]
    outcome = pass_on(items)
    assert outcome.items == [items[0], items[1]]
    assert document
    again = pass_on(items)
    assert (again.items, again.count("dedup/unchanged"), again.count("dedup/updated")) == (items[:2], 2, 0)


def test_files_without_text_are_compared_by_their_checksums(pass_on: PassOn) -> None:
    sums = ["a", "b", "a"]
    items = [{"url": url(n), "files": [{"url": "u", "checksum": each}]} for n, each in enumerate(sums)]
    outcome = pass_on(items)
    assert urls(outcome) == [url(0), url(1)]
    assert outcome.kinds_of_drops == {"ExactDuplicate": 1}


def test_files_are_found_where_the_pipeline_puts_them_and_pictures_are_no_copies(
    pass_on: PassOn,
) -> None:
    items = [{"name": f"Lamp {n}", "images": [{"url": "u", "checksum": "no picture yet"}]} for n in range(3)]
    assert len(pass_on(items).items) == 3
    manuals = [{"name": f"Lamp {n}", "manuals": [{"url": "u", "checksum": "one manual"}]} for n in range(3)]
    assert len(pass_on(manuals).items) == 3
    assert len(pass_on(manuals, {"FILES_RESULT_FIELD": "manuals"}).items) == 1


@pytest.mark.parametrize(
    ("settings", "kept", "similar"),
    [
        ({}, [0, 1, 2, 3, 4], 2),
        ({"DEDUP_SHORT_TEXTS": "pass"}, [0, 1, 2, 3, 4], 0),
        ({"DEDUP_SHORT_TEXTS": "drop"}, [0, 2, 3], 0),
    ],
    ids=["similar", "pass", "drop"],
)
def test_short_texts_that_are_equal_are_no_copies(
    settings: dict[str, Any], kept: list[int], similar: int, pass_on: PassOn
) -> None:
    texts = ("Great product", "Great product", "Fine", A, "Great product", A)
    items = [{"url": url(n), "text": text} for n, text in enumerate(texts)]
    first = pass_on(items, settings)
    assert (urls(first), first.count("dedup/similar")) == ([url(n) for n in kept], similar)
    assert first.kinds_of_drops == {"ExactDuplicate": len(texts) - len(kept)}
    second = pass_on(items, settings)
    assert (urls(second), second.count("dedup/similar")) == ([url(n) for n in kept], 0)


class ListSpider(scrapy.Spider):
    """Yields items without URL, found on pages of a list."""

    name = "list"
    pages: ClassVar[list[list[str]]]

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number, texts in enumerate(self.pages):
            yield scrapy.Request(f"data:text/plain,{number}", self.parse, cb_kwargs={"texts": texts})

    def parse(self, response: Any, texts: list[str]) -> Iterator[Any]:
        yield from ({"text": text} for text in texts)


def test_items_without_url_are_unchanged_where_their_list_has_moved_on(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'dedup.db'}"
    settings = {"ADDONS": ADDONS, "DEDUP_DATABASE_URL": database, "CONCURRENT_ITEMS": 1}
    c, d = document(70, "third"), document(70, "fourth")
    days = [
        ([[A, B], [c]], {"new": 3}),
        ([[d, A], [B, c]], {"new": 1, "unchanged": 3}),
        # A copy in the same run is one.
        ([[c, d, A], [A, B]], {"unchanged": 4, "exact_duplicate": 1}),
        ([[A], [d]], {"unchanged": 2}),
    ]
    for pages, expected in days:
        ListSpider.pages = pages
        outcome = crawl_here(ListSpider, settings)
        assert {name: outcome.count(f"dedup/{name}") for name in expected} == expected
        assert len(outcome.items) == sum(expected.values()) - expected.get("exact_duplicate", 0)


def test_spiders_are_not_compared_with_each_other(pass_on: PassOn) -> None:
    settings = {"DEDUP_SCOPE": "spider"}
    for name in ("one", "two"):
        outcome = pass_on(four(), settings, spider_name=name)
        assert (outcome.count("dedup/new"), outcome.kinds_of_drops.total()) == (2, 2)
    again = pass_on(four(), settings, spider_name="two")
    assert (again.count("dedup/unchanged"), again.kinds_of_drops.total()) == (2, 2)


def test_a_short_text_with_another_price_or_author_is_no_copy(pass_on: PassOn) -> None:
    items = [{"url": url(n), "description": SHARED, "price": n // 2, "author": "Ann"} for n in range(6)]
    outcome = pass_on(items)
    assert [item["price"] for item in outcome.items] == [0, 1, 2]
    reviews = [{"text": "+1", "author": name} for name in ("Ann", "Bob", "Ann")]
    assert [item["author"] for item in pass_on(reviews).items] == ["Ann", "Bob", "Ann"]


@pytest.mark.parametrize("text", [SHARED, A], ids=["short", "long"])
@pytest.mark.parametrize("key", [{}, {"url": "data:text/plain,x"}, {"sku": 1}], ids=["none", "the page", "its own"])
def test_variants_that_share_a_description_are_no_copies(key: dict[str, Any], text: str, pass_on: PassOn) -> None:
    variants = [("red", "S", 20.0), ("red", "M", 20.0), ("blue", "S", 20.0), ("blue", "S", 21.5), ("red", "S", 20.0)]
    items = [
        {**{name: f"{value}{n}" if name == "sku" else value for name, value in key.items()}, "description": text}
        | {"colour": colour, "size": size, "price": price}
        for n, (colour, size, price) in enumerate(variants)
    ]
    outcome = pass_on(items)
    assert [(item["colour"], item["size"], item["price"]) for item in outcome.items] == variants[:4]
    assert outcome.kinds_of_drops == {"ExactDuplicate": 1}


def test_near_copies_are_found_among_the_same_variant(pass_on: PassOn) -> None:
    texts = [(A, "red"), (A, "blue"), (NEAR_A, "blue"), (NEAR_A, "green")]
    items = [{"url": url(n), "text": text, "color": color} for n, (text, color) in enumerate(texts)]
    outcome = pass_on(items)
    assert urls(outcome) == [url(n) for n in (0, 1, 3)]
    assert outcome.kinds_of_drops == {"NearDuplicate": 1}


def test_another_price_is_an_update_and_its_copy_at_the_old_one_is_decided_anew(pass_on: PassOn) -> None:
    def offers(first: int, second: int) -> list[dict[str, Any]]:
        return [{"url": url(n), "text": A, "price": price} for n, price in enumerate((first, second))]

    assert urls(pass_on(offers(5, 5))) == [url(0)]
    second = pass_on(offers(4, 5))
    assert urls(second) == [url(0), url(1)]
    assert second.count("dedup/updated") == 1
    third = pass_on(offers(4, 4))
    assert (urls(third), third.count("dedup/updated")) == ([url(0), url(1)], 1)


@pytest.mark.parametrize(
    ("others", "settings", "kept"),
    [
        ({"start": ("2026-05-01", "2026-05-08", "2026-05-01")}, {}, [0, 1]),
        ({"offers": ({"price": "5"}, {"price": "6"}, {"price": " 5 "})}, {}, [0, 1]),
        ({"author": ("Ann", "Bob", ["ann"]), "section": ("news", "sport", "home"), "views": (1, 2, 3)}, {}, [0, 1]),
        ({"size": (48_000, 48_001, 48_000)}, {"DEDUP_DISTINCT_FIELDS": []}, [0]),
        ({"size": (48_000, 48_001, 48_000)}, {"DEDUP_DISTINCT_FIELDS": "section"}, [0]),
        ({"section": ("news", "sport", "news")}, {"DEDUP_DISTINCT_FIELDS": "section"}, [0, 1]),
    ],
)
@pytest.mark.parametrize("text", [A, NEAR_A], ids=["same", "near"])
def test_another_value_of_a_short_field_makes_another_thing_on_one_site(
    others: dict[str, Any], settings: dict[str, Any], kept: list[int], text: str, pass_on: PassOn
) -> None:
    items = [
        {"url": url(n), "text": text if n else A} | {name: values[n] for name, values in others.items()}
        for n in range(3)
    ]
    outcome = pass_on(items, settings)
    assert urls(outcome) == [url(n) for n in kept]
    assert outcome.count("dedup/similar") == len(kept) - 1


def test_between_sites_dates_and_authors_differ_and_copies_are_copies(pass_on: PassOn) -> None:
    items = [{"url": f"https://site{n}.example/", "text": A, "author": f"A{n}", "price": n // 2} for n in range(4)]
    assert [item["author"] for item in pass_on(items).items] == ["A0", "A2"]


def test_most_items_may_have_one_text_and_other_fields_which_the_log_says_once(pass_on: PassOn) -> None:
    items = [{"url": url(n), "text": A, "start": f"2026-05-{n + 1:02}"} for n in range(30)]
    outcome = pass_on(items)
    assert len(outcome.items) == 30
    assert sum("most items have the text of" in message for message in outcome.messages) == 1


@pytest.mark.parametrize("count", [4, 6, 40])
def test_of_equal_items_one_is_kept_and_a_run_that_is_emptied_says_so_once(count: int, pass_on: PassOn) -> None:
    outcome = pass_on([{"url": url(f"{n:02}"), "text": SHARED} for n in range(count)])
    assert urls(outcome) == [url("00")]
    warnings = [message for message in outcome.messages if "were dropped as copies of" in message]
    assert len(warnings) == (count > 4)
    for warning in warnings:
        counted = f"{min(count, 20) - 1} of {min(count, 20)} items (text: text) were dropped as copies of {url('00')}"
        assert warning.startswith(f"{counted}, such as {url('01')} and {url('02')}; if they are other things")
        assert "DEDUP_DISTINCT_FIELDS = ['*', 'NAME']" in warning


class FillIn:
    """Makes the text, as a project's own pipeline does."""

    def process_item(self, item: Any) -> Any:
        return item


def test_where_a_text_has_taken_most_items_the_log_says_where_to_put_the_stage(pass_on: PassOn) -> None:
    settings = {"ITEM_PIPELINES": {FillIn: 800}}
    outcome = pass_on([{"url": url(n), "text": WALL} for n in range(30)], settings)
    [warning] = [message for message in outcome.messages if "were dropped as copies of" in message]
    assert "(FillIn): DEDUP_AFTER = ['FillIn']" in warning


def test_copies_of_many_texts_are_dropped_however_many_they_are(pass_on: PassOn) -> None:
    texts = [document(80, f"story {n}") for n in range(8)]
    outcome = pass_on([{"url": url(n), "text": texts[n % 8]} for n in range(64)])
    assert len(outcome.items) == 8
    assert not [message for message in outcome.messages if "were dropped as copies of" in message]
