"""Sites that move between two crawls, and runs that bring nothing new."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dedup.rules.settings import DedupSettings
from dedup.store.database import open_existing_database
from dedup.store.erasing import erase
from tests.stage.test_stage import PassOn, urls
from tests.texts import document

STORIES = [document(120, f"story {number}") for number in range(30)]


def found_at(host: str, folder: str = "news") -> list[dict[str, Any]]:
    return [{"url": f"https://{host}/{folder}/{n}", "text": text} for n, text in enumerate(STORIES)]


def test_a_site_that_has_moved_does_not_empty_the_feed(pass_on: PassOn) -> None:
    assert len(pass_on(found_at("old.paper.example")).items) == 30
    moved = pass_on(found_at("paper.example"))
    assert (len(moved.items), moved.count("dedup/updated")) == (30, 30)
    third = pass_on(found_at("paper.example"), {"DEDUP_DROP_UNCHANGED": True})
    assert (third.items, third.count("dedup/unchanged")) == ([], 30)


@pytest.mark.parametrize(("host", "folder"), [("mirror.example", "news"), ("paper.example", "copies")])
def test_a_run_of_copies_of_an_earlier_one_says_so_once(host: str, folder: str, pass_on: PassOn) -> None:
    pass_on(found_at("old.paper.example"))
    copies = pass_on(found_at(host, folder))
    assert copies.items == []
    [warning] = [message for message in copies.messages if "of earlier runs" in message]
    assert "DEDUP_MEMORY = 'run'" in warning
    again = pass_on(found_at("old.paper.example"))
    assert not [message for message in again.messages if "of earlier runs" in message]


def test_what_was_erased_is_no_large_cluster(pass_on: PassOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DedupSettings, "max_cluster", 2)
    pass_on(found_at("old.example")[:1])
    with closing(open_existing_database(f"sqlite:///{tmp_path / 'dedup.db'}", read_only=False)) as database:
        erase(database, found_at("old.example")[0]["url"], with_copies=False, is_tried=False)
    again = pass_on([{**found_at("old.example")[0], "url": f"https://other.example/{number}"} for number in range(5)])
    assert again.count("dedup/erased") == 5
    assert not any("the cluster of" in message for message in again.messages)


def test_a_site_that_moves_takes_along_all_things_of_one_text(pass_on: PassOn) -> None:
    def events(host: str) -> list[dict[str, Any]]:
        days = range(1, 7)
        return [{"url": f"https://{host}/e{n}", "text": STORIES[0], "date": f"2031-05-{n:02}"} for n in days]

    assert len(pass_on(events("old.club.example")).items) == 6
    moved = pass_on(events("club.example"))
    assert (len(moved.items), moved.count("dedup/updated")) == (6, 6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"price": None}, {"price": 2}),
        ({"in_stock": True}, {"in_stock": False}),
        ({"rates": [1, 2]}, {"rates": [2, 1]}),
    ],
)
def test_what_has_changed_in_a_field_is_no_unchanged_item(
    first: dict[str, Any], second: dict[str, Any], pass_on: PassOn
) -> None:
    settings = {"DEDUP_DROP_UNCHANGED": True}
    item = {"url": "https://shop.example/1", "text": STORIES[0]}
    assert [len(pass_on([item | values], settings).items) for values in (first, first, second, second)] == [1, 0, 1, 0]


def test_things_of_a_site_stay_apart_beside_a_copy_at_another_one(pass_on: PassOn) -> None:
    dates = [("a", 1), ("b", 1), ("b", 2), ("b", 3), ("c", 9)]
    items = [
        {"url": f"https://{site}.example/{day}", "text": STORIES[0], "date": f"2031-05-0{day}", "room": "12"}
        for site, day in dates
    ]
    assert urls(pass_on(items)) == [items[n]["url"] for n in (0, 2, 3, 4)]


def test_an_item_without_the_field_is_not_all_of_those_that_have_it(pass_on: PassOn) -> None:
    items = [{"url": f"https://shop.example/{n}", "text": STORIES[0], "size": size} for n, size in enumerate("?ABCA")]
    del items[0]["size"]
    assert [item.get("size") for item in pass_on(items).items] == [None, "B", "C"]


def test_half_a_character_in_a_field_loses_nothing(pass_on: PassOn) -> None:
    items = [{"url": f"https://a.example/{n}", "text": text, "author": "Ann \ud83d"} for n, text in enumerate(STORIES)]
    assert len(pass_on(items).items) == len(items)


@pytest.mark.parametrize("hosts", [("www.k", "events.k"), ("old", "new")])
def test_a_moved_item_is_passed_on_behind_a_new_one_of_its_text(hosts: tuple[str, str], pass_on: PassOn) -> None:
    def event(host: str, number: int) -> dict[str, Any]:
        return {"url": f"https://{host}.example/event/{number}", "text": STORIES[0], "date": f"2031-12-0{number + 1}"}

    old, new = hosts
    pass_on([event(old, 0)])
    kept = urls(pass_on([event(new, 1), event(new, 0)]))
    # Of another owner it is a copy.
    assert kept == [event(new, number)["url"] for number in ((0, 1) if old == "www.k" else (1,))]


def test_what_has_moved_and_was_corrected_is_passed_on(pass_on: PassOn) -> None:
    text = STORIES[0]
    pass_on([{"url": "https://old.paper.example/news/1", "text": text}])
    words = text.split()
    corrected = {"url": "https://paper.example/news/1", "text": " ".join([*words[:60], "corrected", *words[61:]])}
    outcome = pass_on([corrected])
    assert (len(outcome.items), outcome.count("dedup/updated")) == (1, 1)


def test_hosts_of_one_domain_are_one_site(pass_on: PassOn) -> None:
    towns = ("bern", "chur", "biel")
    items = [{"url": f"https://{town}.k.example/event", "text": STORIES[0], "town": town} for town in towns]
    assert len(pass_on(items).items) == 3
