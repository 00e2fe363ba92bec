"""`dedup explain` of what is similar and was kept, and what it would take to be dropped."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupSettings
from dedup.ledger.deduplicator import Deduplicator
from dedup.report.explanation.build import Exact, WordComparison, missed_limits
from dedup.rules.documents import Document, Rule
from dedup.rules.other_fields import ItemFields
from dedup.rules.settings import LIMITS, Caution
from dedup.signature.signature import Similarity
from dedup.signature.signing import make_signature
from tests.commands import run_dedup
from tests.report.test_explain import data, explained, fill
from tests.texts import document, edited, extended, filled_in, form

A, B, C = (f"https://news.example/{name}" for name in "abc")
TEXT = form(200, 14)
FORM = filled_in(TEXT)


def words(**values: Any) -> WordComparison:
    """Return what comparing the words of two texts gives that differ in nothing but what is given."""
    names = [each.name for each in fields(WordComparison)]
    alike = dict.fromkeys(names, 0.0) | {"numbers_shared": 1.0, "short_similarity": None, "is_noise": False}
    alike["is_renamed_sibling"] = False
    return WordComparison(**(alike | values))


def missed(settings: dict[str, Any] | None = None, **values: Any) -> list[str]:
    """Return what a pair misses that misses nothing but what is given."""
    given = {"tokens": 200, "exact": Exact(0.7, 0.8, 1.0, 150), "words": words(), **values}
    return [each.text for each in missed_limits(settings=DedupSettings(**(settings or {})), **given)]


# The limits


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"tokens": 12}, ["12 tokens: at least 20 (DEDUP_MIN_TOKENS)"]),
        (
            {"exact": Exact(0.42, 0.7, 1.0, 90)},
            [
                "Jaccard .42: at least .55 (DEDUP_MIN_JACCARD)",
                "or containment .70: at least .90 (DEDUP_CAUTION)",
            ],
        ),
        (
            {"exact": Exact(0.3, 1.0, 0.3, 60)},
            [
                "Jaccard .30: at least .55 (DEDUP_MIN_JACCARD)",
                "length ratio .30, where containment counts: at least .60 (DEDUP_CAUTION)",
            ],
        ),
        (
            {"words": words(replaced=2.3, rewritten=0.25)},
            [
                "rewritten .25 of the shorter text: at most .10 (DEDUP_CAUTION)",
                "replaced 2.3 of 100 words: at most 1.25 (DEDUP_CAUTION)",
            ],
        ),
        (
            {"tokens": 40, "words": words(short_similarity=0.5)},
            ["words and pairs of words .50: at least .70"],
        ),
        (
            {"tokens": 40, "words": words(short_similarity=0.9, has_other_numbers=True)},
            ["other numbers in 40 tokens: at least 64"],
        ),
        (
            {"words": words(numbers_gone=0.3, numbers_shared=0.9, is_renamed_sibling=True)},
            ["numbers .90 in both: at least 1.00 (DEDUP_CAUTION)"],
        ),
        (
            {"to_leader": Similarity(0.2, 0.5, 1.0)},
            [
                "Jaccard .20 to the leader of the cluster: at least .40",
                "or containment .50 to it: at least .70",
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_limit_that_is_missed_is_one_line(values: dict[str, Any], expected: list[str]) -> None:
    assert missed(**({"words": None} | values)) == expected


def test_a_value_that_would_be_rounded_to_its_limit_is_written_in_full() -> None:
    almost = missed(exact=Exact(0.5494, 0.1, 1.0, 99), words=None)[0]
    assert almost == "Jaccard .55: at least .55 (DEDUP_MIN_JACCARD)".replace(".55:", "0.5494:")


def test_what_the_rule_does_not_ask_is_no_limit() -> None:
    assert missed() == []
    assert missed(words=words(replaced=5.0, is_noise=True)) == []
    assert missed(exact=Exact(0.2, 0.95, 0.9, 60)) == []
    assert missed({"mode": "paper"}, exact=Exact(0.1, 0.1, 1.0, 9), words=words(replaced=5.0)) == []


# The command


def test_similar_texts_are_told_with_what_it_takes_to_drop_one(tmp_path: Path) -> None:
    texts = (f"text:{TEXT}", f"text:{FORM}")
    lines = explained(tmp_path, *texts).splitlines()
    assert lines[0] == "verdict       similar: B is kept beside A"
    start = lines.index("to be dropped")
    content = data(tmp_path, *texts)
    assert lines[start + 1 : lines.index("", start)] == [
        f"              replaced {content['replaced']:.3g} of 100 words: at most 1.25 (DEDUP_CAUTION)",
        "              numbers .00 in both: at least .40 (DEDUP_CAUTION)",
    ]
    assert content["verdict"] == "similar"
    assert [(each["setting"], each["value"], each["needed"]) for each in content["missed"]] == [
        ("max_replaced", content["replaced"], 1.25),
        ("min_numbers", 0, 0.4),
    ]


def test_a_pair_within_the_limits_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (f"text:{TEXT}", f"text:{FORM}")
    reached = LIMITS[Caution.BALANCED]._replace(min_numbers=0, max_replaced=data(tmp_path, *texts)["replaced"])
    monkeypatch.setitem(LIMITS, Caution.BALANCED, reached)
    content = data(tmp_path, *texts)
    assert (content["verdict"], content["missed"]) == ("near duplicate", [])


def test_of_unlike_texts_nobody_is_told_how_to_drop_one(tmp_path: Path) -> None:
    texts = (f"text:{TEXT}", f"text:{edited(TEXT, 40)}")
    assert "to be dropped" not in explained(tmp_path, *texts)
    assert "min_jaccard" in [limit["setting"] for limit in data(tmp_path, *texts)["missed"]]


def test_a_stored_page_that_is_similar_is_explained_with_the_rule_that_is_stored(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{A: TEXT, B: FORM}, {A: TEXT, B: FORM}])
    output = explained(tmp_path, "--dropped", B)
    assert output.startswith("verdict       similar: B is kept beside A\n")
    assert ", rule: replaced\n" in output
    content = data(tmp_path, "--dropped", B)
    # It was seen again since.
    assert (content["record"]["rule"], content["record"]["run"]) == ("replaced", "run 0")
    assert content["rule"] == Rule.REPLACED
    assert [limit["setting"] for limit in content["missed"]] == ["max_replaced", "min_numbers"]
    assert content["notes"] == []
    done = run_dedup("explain", "--dropped", A, folder=tmp_path)
    assert done.returncode == 2
    assert "was not dropped: the last verdict on it, in run run 1, is unchanged" in done.stderr


def test_an_updated_page_that_is_similar_is_explained(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{A: TEXT, B: document(200, "other")}, {B: FORM}])
    output = explained(tmp_path, "--dropped", B)
    assert output.startswith("verdict       updated, and similar: B is kept beside A\n")
    assert "to be dropped\n" in output


def test_a_page_that_resembles_a_member_is_explained_by_it(tmp_path: Path) -> None:
    # Longer by a tenth, and so nearer to the form of it than the original is.
    longer = extended(TEXT, 20)
    fill(tmp_path / "crawl.db", [{A: TEXT, B: longer, C: filled_in(longer)}])
    content = data(tmp_path, "--dropped", C)
    assert (content["record"]["original"], content["record"]["matched"]) == (A, B)
    values = {each["setting"]: each["value"] for each in content["missed"]}
    assert values["max_replaced"] == content["member"]["replaced"]


def test_the_fields_are_named_that_tell_two_items_of_one_text_apart(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with closing(Deduplicator(DedupSettings(database_url=f"sqlite:///{path}"))) as deduplicator:
        run = deduplicator.open_run("run")
        for key, start in ((A, "1 may"), (B, "8 may")):
            packed = ItemFields("news.example", {"start": [start], "room": ["12"]}).packed()
            deduplicator.decide([Document(key, make_signature(TEXT), len(TEXT), fields=packed)], run)
    output = " ".join(explained(tmp_path, "--dropped", B).split())
    assert "verdict similar: B is kept beside A" in output
    assert "the items' other fields are not" in output
    assert "Their fields tell them apart: start: 1 may in A, 8 may in B." in output
    assert "does not follow" not in output
