"""`dedup explain` of what is similar and was kept, and what it would take to be dropped."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from dedup import DedupSettings
from dedup.rules.documents import Document
from dedup.rules.other_fields import ItemFields
from dedup.rules.settings import LIMITS, Caution
from dedup.rules.table import Rule
from dedup.signature.signing import make_signature
from dedup.store.deduplicator import Deduplicator
from tests.commands import run_dedup
from tests.report.test_explain import data, explained, fill, measured, missed
from tests.texts import document, extended, filled_in, form

A, B, C = (f"https://news.example/{name}" for name in "abc")
TEXT = form(200, 14)
FORM = filled_in(TEXT)


def test_a_pair_within_the_limits_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (f"text:{TEXT}", f"text:{FORM}")
    replaced = measured(data(tmp_path, *texts))["max_replaced"]
    reached = LIMITS[Caution.BALANCED]._replace(min_numbers=0, max_replaced=replaced)
    monkeypatch.setitem(LIMITS, Caution.BALANCED, reached)
    content = data(tmp_path, *texts)
    assert (content["verdict"], missed(content)) == ("near duplicate", [])
    # What would be rounded to its limit is written in full.
    monkeypatch.setitem(LIMITS, Caution.BALANCED, reached._replace(max_replaced=replaced - 1e-4))
    assert f" {replaced:.5g}  at most {replaced - 1e-4:.5g}  missed " in explained(tmp_path, *texts)


def test_a_stored_page_that_is_similar_is_explained_with_the_rule_that_is_stored(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{A: TEXT, B: FORM}, {A: TEXT, B: FORM}])
    output = explained(tmp_path, B)
    assert output.startswith("verdict       similar: B is kept beside A\n")
    assert " alike: words replaced here and there\n" in output
    content = data(tmp_path, B)
    # It was seen again since.
    assert (content["record"]["rule"], content["record"]["run"]) == ("replaced", "run 0")
    assert content["reason"] == Rule.REPLACED.says
    assert missed(content) == ["max_replaced", "min_numbers"]
    assert content["notes"] == []
    done = run_dedup("explain", A, folder=tmp_path)
    assert done.returncode == 2
    assert "was kept, and resembles no other page: it is unchanged in run run 1" in done.stderr


def test_an_updated_page_that_is_similar_is_explained(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{A: TEXT, B: document(200, "other")}, {B: FORM}])
    output = explained(tmp_path, B)
    assert output.startswith("verdict       updated, and similar: B is kept beside A\n")
    assert " missed " in output


def test_a_page_that_resembles_a_member_is_explained_by_it(tmp_path: Path) -> None:
    # Longer by a tenth, and so nearer to the form of it than the original is.
    longer = extended(TEXT, 20)
    fill(tmp_path / "crawl.db", [{A: TEXT, B: longer, C: filled_in(longer)}])
    content = data(tmp_path, C)
    assert (content["record"]["original"], content["record"]["matched"]) == (A, B)
    assert content["a"]["name"] == B
    of_pair = data(tmp_path, f"text:{longer}", f"text:{filled_in(longer)}")
    assert measured(content)["max_replaced"] == measured(of_pair)["max_replaced"]


def test_the_fields_are_named_that_tell_two_items_of_one_text_apart(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with closing(Deduplicator(DedupSettings(database_url=f"sqlite:///{path}"))) as deduplicator:
        run = deduplicator.open_run("run")
        for key, start in ((A, "1 may"), (B, "8 may")):
            packed = ItemFields("news.example", {"start": [start], "room": ["12"]}).packed()
            deduplicator.decide([Document(key, make_signature(TEXT), len(TEXT), fields=packed)], run)
    output = " ".join(explained(tmp_path, B).split())
    assert "verdict similar: B is kept beside A" in output
    assert "a date, a place or a number differs" in output
    assert "Their fields tell them apart: start: 1 may in A, 8 may in B." in output
    assert "does not follow" not in output
