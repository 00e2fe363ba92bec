"""`dedup evaluate` on labelled sets."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dedup.errors import InputError
from dedup.evaluation import Quality, pool_results, read_marked, read_pairs, table
from dedup.store.database import Database
from tests.commands import run_dedup, run_in_process
from tests.texts import document, edited

STORY = document(200)
TEXTS = {
    "story": STORY,
    "edited": edited(STORY, 2),
    "rewritten": edited(STORY, 48),
    "other": document(200, "other"),
}
PAIRS: list[dict[str, Any]] = [
    {"a": "story", "b": "edited", "label": 1, "kind": "edit"},
    {"a": "story", "b": "rewritten", "label": 1, "kind": "rewrite"},
    {"a": "story", "b": "other", "label": 0, "kind": "unlike"},
    {"a": "edited", "b": "other", "label": 0, "kind": "unlike"},
    {"a": "edited", "b": "rewritten", "label": None, "kind": "rewrite"},
]


def write_set(folder: Path, documents: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in (("docs", documents), ("pairs", pairs)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    documents: list[dict[str, Any]] = [{"id": name, "text": text} for name, text in TEXTS.items() if name != "edited"]
    words = TEXTS["edited"].split()
    page = "".join(f"<p>{' '.join(words[i : i + 50])}</p>" for i in range(0, len(words), 50))
    (folder / "html").mkdir()
    (folder / "html" / "edited.html.gz").write_bytes(gzip.compress(f"<html><body>{page}</body></html>".encode()))
    documents.append({"id": "edited", "html": "html/edited.html.gz", "gold": TEXTS["edited"]})
    return write_set(folder, documents, PAIRS)


def evaluate(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_dedup("evaluate", "--processes", "1", *arguments, folder=Path())


@pytest.mark.slow
def test_the_object_says_what_was_found_and_missed(labelled: Path) -> None:
    done = run_in_process("-m", "dedup", "evaluate", "--processes", "1", labelled, "--json")
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["sets"]
    assert found["name"] == labelled.name
    figures = [found[name] for name in ("pairs", "true_positives", "false_positives", "false_negatives")]
    assert figures == [4, 1, 0, 1]
    assert (found["precision"], found["recall"], found["f1"]) == (1.0, 0.5, pytest.approx(2 / 3))
    assert {kind: each["pairs"] for kind, each in found["kinds"].items()} == {"edit": 1, "rewrite": 1, "unlike": 2}
    assert sum(half["pairs"] for half in found["halves"]) == 4


@pytest.mark.slow
def test_settings_are_compared_in_one_run(labelled: Path) -> None:
    others = ("mode=checked,caution=eager,min_jaccard=0", "scheme=pairs")
    paper = ("--mode", "paper", "--set", "DEDUP_TABLES=5 choose 2")
    done = evaluate(labelled, "--json", *paper, *(word for other in others for word in ("--with", other)))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["all"]["true_positives"] == 1
    compared = {each["method"]: each["all"]["true_positives"] for each in found["compared"]}
    assert list(compared.values()) == [2, 1]


@pytest.mark.slow
def test_a_radius_and_exact_measures_are_compared(labelled: Path) -> None:
    given = ("--with", "radius=31", "--reference", "jaccard=.1", "--reference", "cosine=1")
    done = evaluate(labelled, "--json", *given)
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)["compared"]
    assert [each["method"] for each in compared] == ["with radius=31", "exact jaccard=.1", "exact cosine=1"]
    found = [each["all"]["true_positives"] for each in compared]
    assert found[0] >= 1
    assert found[1:] == [2, 0]


@pytest.mark.slow
def test_the_table_and_the_errors(labelled: Path) -> None:
    done = evaluate(labelled, "--show-errors", 5)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    row = next(line for line in lines if line.startswith("all "))
    assert row.split() == ["all", "4", "1.0000", "0.5000", "0.6667", "0", "1"]
    at = lines.index("missed  story  rewritten  rewrite")
    assert "[-" in lines[at + 2]
    assert "{+" in lines[at + 2]
    assert max(map(len, lines)) <= 160


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "min_jacquard=1"], "min_jacquard"),
        (["--with", "caution"], "NAME=VALUE"),
        (["--with", "mode=checked,radius=9"], "DEDUP_RADIUS = 9: words decide"),
        (["--reference", "jaccard"], "--reference 'jaccard': write jaccard=.6 or cosine=.9"),
        (["--reference", "dice=.5"], "--reference 'dice=.5'"),
        (["--reference", "cosine=nan"], "--reference 'cosine=nan'"),
        (["--limit", "0"], "--limit 0"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(labelled: Path, arguments: list[str], said: str) -> None:
    done = evaluate(labelled, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("documents", "pairs", "said"),
    [
        ([{"id": "a"}], [], "docs.jsonl, line 1: expected 'id'"),
        ([{"id": "a", "html": "missing.html"}], [], "missing.html cannot be read"),
        ([{"id": "a", "text": "x"}], [{"a": "a", "b": "b", "label": 1}], "no document has the id 'b'"),
        ([{"id": "a", "text": "x"}], [{"a": "a", "b": "a", "label": "yes"}], "label 'yes'"),
        ([{"id": "a", "text": "x"}], [{"a": "a", "b": "a"}], "expected 'a', 'b' and 'label'"),
    ],
)
def test_a_broken_set_is_refused_with_the_place(
    documents: list[dict[str, Any]], pairs: list[dict[str, Any]], said: str, tmp_path: Path
) -> None:
    done = evaluate(write_set(tmp_path / "broken", documents, pairs))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_that_is_no_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text("{not json\n", encoding="utf-8")
    assert "line 1: not JSON" in evaluate(tmp_path).stderr
    assert "a labelled set has docs.jsonl and pairs.jsonl" in evaluate(tmp_path / "nowhere").stderr


def test_quality_of_nothing_found_and_nothing_wanted() -> None:
    quality = Quality.of([(False, False)])
    assert (quality.precision, quality.recall, quality.f1) == (1.0, 1.0, 1.0)
    assert (Quality.of([(False, True)]).precision, Quality.of([(True, False)]).recall) == (0.0, 0.0)
    assert Quality.of([(False, True), (True, False)]).f1 == 0.0
    assert Quality.of([(True, True), (False, True)]) == Quality(1, 1, 0, 0)


def test_what_has_no_pairs_has_no_quality() -> None:
    lines = table("method", [], pool_results([])).splitlines()
    for name in ("all", "one half", "other half"):
        [row] = [line for line in lines if line.split("  none")[0].strip() == name]
        assert row.endswith("none")


# Files of pairs, as browsers, editors and strangers write them

PAIR = '{"a": "http://x.example/%s", "b": "http://x.example/b", "label": 0}'


def written(folder: Path, text: str) -> Path:
    path = folder / "marks.jsonl"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(letter: str, tmp_path: Path) -> None:
    (pair,) = read_pairs(written(tmp_path, PAIR % letter + "\n"))
    assert pair.a == f"http://x.example/{letter}"


@pytest.mark.parametrize("text", ["\ufeff" + PAIR + "\r\n", PAIR + "\n\n", "\n" + PAIR])
def test_what_editors_add_is_passed_over(text: str, tmp_path: Path) -> None:
    assert len(read_pairs(written(tmp_path, text))) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PAIR + "\n\nnothing\n", "line 3: not JSON"),
        ("[" * 200_000, "line 1: not usable JSON: nested too deeply"),
        ('{"a": ' + "[" * 200_000, "line 1: not usable JSON: nested too deeply"),
    ],
    ids=["empty lines count", "list", "object"],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        read_pairs(written(tmp_path, text))


def test_a_missing_file_of_pairs_is_not_told_to_be_a_set(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_pairs(tmp_path / "nothing.jsonl")
    assert "labelled set" not in str(refused.value)


def test_a_file_without_marks_says_so(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'crawl.db'}")
    with pytest.raises(InputError, match="no marks; mark pairs in a report"):
        read_marked(written(tmp_path, "\n"), database)
    database.close()
