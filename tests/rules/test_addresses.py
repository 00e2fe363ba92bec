"""Sibling addresses: which they are, and how much more evidence it takes there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedup import Decision, Deduplicator, deduplicate
from dedup.rules.scope import are_siblings
from dedup.rules.settings import Caution, DedupSettings
from dedup.rules.table import Rule
from tests.texts import document

HOST = "https://shop.example"
SEVENTEEN, EIGHTEEN = f"{HOST}/product?id=17", f"{HOST}/product?id=18"
FRAME = document(200).split()


def record(name: str, number: object, *, day: str = "Monday") -> str:
    """Return the page of a product, whose name and price stand once in a long frame."""
    return " ".join([*FRAME[:50], name, *FRAME[50:100], str(number), *FRAME[100:150], day, *FRAME[150:]])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("/product/17", "/product/18"),
        ("/product?id=9&page=1", "/product?id=10&page=1"),
        ("/2024/05/12.html", "/2023/11/2.html"),
        ("/17#top", "/18#top"),
    ],
)
def test_addresses_of_one_host_that_differ_in_numbers_alone_are_siblings(a: str, b: str) -> None:
    assert are_siblings(HOST + a, HOST + b)
    assert are_siblings(HOST + b, HOST + a)
    assert are_siblings(f"http://SHOP.example{a}", f"https://shop.example{b}")
    assert not are_siblings(HOST + a, HOST + a)
    assert not are_siblings(HOST + a, f"https://mirror.example{b}")
    assert not are_siblings(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (f"{HOST}/17", f"{HOST}/17?print=1"),
        (f"{HOST}/17?sid=1f3a", f"{HOST}/17?sid=22bc"),
        (f"{HOST}/red-shoe", f"{HOST}/blue-shoe"),
        ("https://www1.shop.example/17", "https://www2.shop.example/17"),
        (f"{HOST}:8001/17", f"{HOST}:8002/17"),
        ("file.jsonl:17", "file.jsonl:18"),
        ("", ""),
    ],
)
def test_other_addresses_are_none(a: str, b: str) -> None:
    assert not are_siblings(a, b)


def second(texts: dict[str, str], **values: Any) -> Decision:
    """Decide texts under their keys, in memory and in a database; what became of the last one must be the same."""
    *_, decision = deduplicate(texts.items(), **values)
    return decision


def test_another_name_with_another_number_is_another_record_there() -> None:
    lamp, chair = record("lamp", 120), record("chair", 345)
    found = second({SEVENTEEN: lamp, EIGHTEEN: chair})
    assert (found.is_similar, found.rule) == (True, Rule.RENUMBERED)
    for other in ("https://mirror.example/product?id=18", f"{HOST}/offers/chair", "18"):
        assert second({SEVENTEEN: lamp, other: chair}).verdict.is_duplicate


@pytest.mark.parametrize(
    "other",
    [
        record("lamp", 120),
        record("lamp", 345),
        record("chair", 120),
        # A calendar that never ends.
        record("lamp", 345, day="Tuesday"),
    ],
    ids=["itself", "another number", "another name", "another date"],
)
def test_an_edition_is_a_copy_there_too(other: str) -> None:
    assert second({SEVENTEEN: record("lamp", 120), EIGHTEEN: other}).verdict.is_duplicate


def test_the_eager_caution_does_not_ask_for_it() -> None:
    texts = {SEVENTEEN: record("lamp", 120), EIGHTEEN: record("chair", 345)}
    assert [second(texts, caution=each).verdict.is_duplicate for each in Caution] == [False, False, True]


def test_a_record_is_no_copy_of_the_mirror_of_its_sibling() -> None:
    # The mirror's words are the nearer ones.
    lamp, mirrored, chair = record("lamp", 120), f"mirrored by us {record('lamp', 120)}", record("chair", 345)
    mirror = "https://mirror.example/lamp"
    decisions = list(deduplicate({SEVENTEEN: lamp, mirror: mirrored, EIGHTEEN: f"mirrored by us {chair}"}.items()))
    assert [each.verdict.is_duplicate for each in decisions] == [False, True, False]


def test_a_crawl_and_files_decide_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    products = ["lamp", "chair", "quilt", "sofa", "bench", "globe"]
    texts = {f"{HOST}/product/{at}": record(name, 100 + 37 * at) for at, name in enumerate(products)}
    texts |= {f"{key}?print=1": f"{text} printed for you" for key, text in texts.items()}
    for batch_size in (1, 5):
        database = f"sqlite:///{tmp_path / f'{batch_size}.db'}"
        monkeypatch.setattr(DedupSettings, "batch_size", batch_size)
        in_database = list(deduplicate(texts.items(), database=database))
        assert in_database == list(deduplicate(texts.items()))
    assert [each.verdict.is_duplicate for each in in_database] == [False] * 6 + [True] * 6
    with Deduplicator(f"sqlite:///{tmp_path / '1.db'}") as deduplicator:
        assert deduplicator.decide(f"{HOST}/product/99", record("desk", 999)).is_similar
