"""Pages of one template and their copies: how `python -m benchmarks templates` counts what became of them."""

import pytest

from benchmarks.labelled.records import Template
from benchmarks.labelled.records_data import WorldData
from benchmarks.templates import Text, decide, distinct_pages, run
from dedup.errors import InputError, SettingsError
from tests.texts import document

FRAME = document(120, "frame")


def test_pages_that_are_dropped_and_copies_that_are_kept_are_counted_with_what_decided():
    page, other = document(150, "page"), document(150, "other")
    texts = [
        Text("p0", page),
        Text("p1", other),
        Text("p2", page),
        Text("p0 mirror", f"{page} Copied.", "p0", "mirror"),
        Text("p1 session id", document(150, "nothing of it"), "p1", "session id"),
        Text("p2 mirror", page, "p2", "mirror"),
    ]
    tally = decide(texts, "balanced")
    assert (tally.pages, tally.similar.total()) == (3, 0)
    assert tally.dropped == ["p2 is exact duplicate of p0 by same_text, Jaccard 1.00"]
    assert tally.copies == {"mirror": 2, "session id": 1}
    assert tally.kept_by.total() == 1
    [kept] = tally.kept
    assert kept.startswith("p1 session id is new; with its original alone: ")
    # That of a page that was dropped is one of what that was taken for.
    assert tally.misplaced == []


def test_a_copy_of_another_page_is_misplaced_and_one_that_is_similar_is_kept():
    page, other = document(150, "page"), document(150, "other")
    texts = [
        Text("p0", page),
        Text("p1", other),
        Text("p1 mirror", page, "p1", "mirror"),
        Text("p0 mirror", f"{document(90, 'unlike')} {FRAME}", "p0", "mirror"),
        Text("p0 session id", f"{page[: len(page) // 2]} {FRAME}", "p0", "session id"),
    ]
    tally = decide(texts, "balanced")
    assert tally.misplaced == ["p1 mirror is exact duplicate of p0 by same_text, Jaccard 1.00"]
    assert len(tally.kept) == 2


def test_records_of_one_name_are_one_thing_until_no_other_name_comes(monkeypatch, tmp_path):
    template = Template("learn", "en", "lamps", "article", ("Lamp {name}", "It costs {price}."))
    made = {0: ["a", "b", "a"], 1: ["b", "c"], 2: ["a", "c"]}
    monkeypatch.setattr(
        "benchmarks.templates.records_of",
        lambda template, data, time: ({"name": name, "price": time} for name in made[time]),
    )
    pages = list(distinct_pages(template, WorldData(tmp_path), 200))
    assert [page.title for page in pages] == ["Lamp a", "Lamp b", "Lamp c"]
    assert len(list(distinct_pages(template, WorldData(tmp_path), 2))) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"templates": ["xx-none"]}, "--templates xx-none: there are all, de-"),
        ({"caution": "wild"}, "--caution = 'wild': expected one of careful, balanced, eager"),
    ],
)
def test_what_is_unknown_is_a_clear_error_before_anything_is_fetched(values, message, tmp_path):
    with pytest.raises((InputError, SettingsError), match=message):
        run(cache=tmp_path, **values)
    assert not list(tmp_path.iterdir())
