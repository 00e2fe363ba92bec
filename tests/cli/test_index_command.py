"""`dedup index` as a user runs it: build, info, query, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dedup import DedupSettings, make_signature
from dedup.corpus import index as saving
from dedup.corpus.index import SavedIndex
from dedup.corpus.index_tools import find_near
from dedup.keys import MOST_READ, Keys, choose
from dedup.rules.documents import Document
from dedup.signature.signature import digest, distance
from dedup.store.deduplicator import Deduplicator
from tests.commands import run_dedup, run_in_process
from tests.databases import lose_text
from tests.saved_indexes import held, rows_in, save_index
from tests.texts import document, edited, filled_in, form

TEXT = document(200, "text")
NEAR = edited(TEXT, 4)
OTHER = document(200, "other")
SHORT = "too short for anything but equality"
DOCUMENTS = [("a", TEXT), ("b", NEAR), ("c", OTHER), ("d", SHORT), ("e", TEXT)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of five documents, of four contents, that nobody changes."""
    return save_index(tmp_path_factory.mktemp("index") / "index", DOCUMENTS)


def run(*arguments: object, status: int = 0) -> str:
    """Run `dedup index` in this process; return what it printed."""
    done = run_dedup("index", *arguments, folder=Path())
    assert done.returncode == status
    if status == 0:
        assert done.stderr == ""
        return done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def asked(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.mark.slow
def test_an_index_of_files_is_that_of_dedup_files(tmp_path: Path) -> None:
    rows = (json.dumps({"id": key, "text": text}) + "\n" for key, text in DOCUMENTS)
    (tmp_path / "in.jsonl").write_text("".join(rows), encoding="utf-8")
    done = run_dedup("files", "in.jsonl", "--save-index", "built", "--processes", "1", folder=tmp_path)
    # Where it takes long, progress is shown.
    assert done.returncode == 0, done.stderr
    assert "read        5 documents of 1 file\n" in done.stdout
    assert done.stdout.endswith("dedup index info built\n")
    expected = save_index(tmp_path / "expected", DOCUMENTS)
    assert rows_in(tmp_path / "built") == rows_in(expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["built", "expected", "in.jsonl"]
    assert held(tmp_path / "built").keys() == {"a", "b", "c", "d"}
    found = asked("query", tmp_path / "built", f"text:{edited(TEXT, 2, 'q')}")
    assert found[0]["found"][0]["key"] == "a"


def test_an_index_of_a_crawl(database_url: str, tmp_path: Path) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=database_url))
    run_id = deduplicator.open_run("run")
    pages = [*DOCUMENTS, ("empty", ""), ("empty too", ""), ("lost", ""), ("changed", TEXT), ("copy", edited(NEAR, 1))]
    bodies = {"empty": b"1", "empty too": b"1"}
    for key, text in [*pages, ("changed", document(90, "new"))]:
        body = bodies.get(key)
        page = Document(key, make_signature(text), len(text), None if body is None else digest(body))
        deduplicator.decide([page], run_id)
    deduplicator.database.close()
    made = asked("build", "--database", database_url, "-o", tmp_path / "index")
    # e is a to the letter, as is the second empty page; of the one that is lost there is nothing to know it by.
    assert (made["read"], made["added"]) == (len(pages), 7)
    rows = held(tmp_path / "index")
    assert {key: leader for key, (leader, *_) in rows.items()} == {
        "a": None,
        "c": None,
        "d": None,
        "empty": None,
        "changed": None,
        "b": "a",
        "copy": "a",
    }
    assert {key for key, (_, indexed, _) in rows.items() if indexed} == {"a", "b", "c", "changed", "copy"}
    assert rows["a"][2] == make_signature(TEXT).words
    # The same answers as from an index of the same texts.
    expected = save_index(tmp_path / "expected", [(key, text) for key, text in pages if key in "abcd"])
    query = f"text:{edited(TEXT, 5, 'q')}"
    answers = [asked("query", folder, query)[0]["found"] for folder in (tmp_path / "index", expected)]
    assert [each for each in answers[0] if each["key"] != "copy"] == answers[1]


@pytest.mark.parametrize(
    ("own", "other", "told", "shown"),
    [
        ({"scheme": "pairs"}, ("--scheme", "words"), "was made with pair-bigrams/", ("scheme", "4:pair-bigrams/")),
        (
            {"mode": "paper"},
            ("--mode", "checked"),
            "was made with paper; leave it out",
            ("settings", "mode paper instead of checked"),
        ),
    ],
)
def test_an_index_has_the_scheme_and_the_mode_of_its_database(
    own: dict[str, Any],
    other: tuple[str, str],
    told: str,
    shown: tuple[str, str],
    sqlite_url: str,
    tmp_path: Path,
) -> None:
    Deduplicator(DedupSettings(database_url=sqlite_url, **own)).database.close()
    made = ("build", "--database", sqlite_url, "-o", tmp_path / "index")
    assert told in run(*made, *other, status=2)
    assert not (tmp_path / "index").exists()
    run(*made)
    assert asked("info", tmp_path / "index")[shown[0]].startswith(shown[1])


def test_texts_of_which_no_words_are_stored_are_told_of(sqlite_url: str, tmp_path: Path) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=sqlite_url))
    deduplicator.decide([Document("d", make_signature(SHORT), len(SHORT))], deduplicator.open_run("run"))
    deduplicator.database.close()
    made = ("build", "--database", sqlite_url, "-o", tmp_path / "index", "--set", "min_tokens=3")
    assert "the words of 'd' are not stored" in run(*made, status=1)


def test_a_database_whose_duplicates_have_no_original_is_named(sqlite_url: str, tmp_path: Path) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=sqlite_url))
    run_id = deduplicator.open_run("run")
    for key, text in DOCUMENTS[:2]:
        deduplicator.decide([Document(key, make_signature(text), len(text))], run_id)
    lose_text(deduplicator.database, "a")
    deduplicator.database.close()
    message = run("build", "--database", sqlite_url, "-o", tmp_path / "index", status=1)
    assert "database sqlite:///" in message
    assert "'b' is a duplicate of a document that leads no cluster; name a copy of the database" in message


def test_info(index: Path) -> None:
    lines = dict(line.split(maxsplit=1) for line in run("info", index).splitlines())
    assert lines["settings"] == "the defaults"
    assert lines["documents"] == "4 of different contents: 3 originals, 1 duplicates"
    contents = asked("info", index)
    assert contents["format"] == 4
    assert (contents["files"], contents["bytes"]) == (1, SavedIndex(index).files[0].stat().st_size)
    assert lines["bytes"].endswith(" B in 1 file")


@given(st.integers(0, 2**64 - 1), st.integers(0, 64), st.integers(1, 6))
def test_all_fingerprints_within_any_radius_are_found(index: Path, fingerprint: int, radius: int, limit: int) -> None:
    stored = {key: make_signature(text).fingerprint for key, text in DOCUMENTS[:3]}
    by_distance = sorted((distance(fingerprint, each), key) for key, each in stored.items())
    [found] = find_near(SavedIndex(index), [fingerprint], radius, limit)
    assert [(each.distance, each.key) for each in found] == [each for each in by_distance if each[0] <= radius][:limit]


def test_query_looks_at_the_candidates_of_a_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of a template, more share a key than are read of it: the original is found by the keys that are rare.
    monkeypatch.setattr(saving, "AT_ONCE", 7)
    base = document(60, "base") + " "
    texts = [base * 3 + document(20, number) for number in range(40)]
    save_index(tmp_path / "index", [(f"{number}", text) for number, text in enumerate(texts)])
    keys = Keys(DedupSettings().tables)
    known = keys_of(keys, texts)
    for number in (3, 39):
        asked_for = edited(texts[number], 4)
        [answer] = asked("query", tmp_path / "index", f"text:{asked_for}", "--limit", 99)
        first = answer["found"][0]
        assert (first["key"], first["is_duplicate"]) == (f"{number}", True)
        shared = keys_of(keys, [asked_for]) == known
        found = [(key, np.flatnonzero(shared[:, key])[:MOST_READ].tolist()) for key in range(keys.count)]
        expected = {f"{document}" for document, shares_band in choose(found, keys) if shares_band}
        assert {each["key"] for each in answer["found"]} == expected
        assert MOST_READ <= len(expected) < len(texts)


def keys_of(keys: Keys, texts: list[str]) -> NDArray[np.uint64]:
    made = [make_signature(text) for text in texts]
    return keys.of(np.array([each.fingerprint for each in made], np.uint64), np.stack([each.bands for each in made]))


def test_query_says_what_a_crawl_would(index: Path, tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text(edited(TEXT, 3, "q"), encoding="utf-8")
    near = f"{make_signature(OTHER).fingerprint ^ 0b101:016X}"
    texts = ("text:" + SHORT.upper(), "text:" + document(100, "unknown"), "text:...")
    page, short, unknown, empty, fingerprint = asked(
        "query", index, tmp_path / "page.txt", *texts, "--fingerprint", near
    )
    first, second = page["found"]
    assert (first["key"], first["is_duplicate"], first["leader"]) == ("a", True, None)
    assert 0.7 < first["similarity"] < 1
    assert (second["key"], second["leader"]) == ("b", "a")
    assert [(each["key"], each["similarity"]) for each in short["found"]] == [("d", 1.0)]
    assert unknown["found"] == empty["found"] == []
    assert fingerprint["query"] == near.lower()
    assert [(each["key"], each["distance"], each["similarity"]) for each in fingerprint["found"]] == [("c", 2, None)]
    lines = run("query", index, tmp_path / "page.txt", *texts).splitlines()
    assert lines[1].split() == ["found", "distance", "similarity", "verdict", "rule", "leader"]
    assert lines[2].split()[0] == "a"
    assert lines[2].split()[-2:] == ["duplicate", "jaccard"]
    assert lines[-1] == "nothing found"


def test_query_reads_records_as_dedup_files_does(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "near", "body": edited(TEXT, 3, "q")}, {"id": "page", "html": f"<main><p>{OTHER}</main>"}]
    for name, lines in (("in.jsonl", [*rows, {"n": 1}]), ("many.jsonl", [{"text": "a"}] * 101)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    query = ("index", "query", index, "in.jsonl", "--text-field", "body", "--json")
    done = run_dedup(*query, folder=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("dedup index query: in.jsonl:3: has neither 'body' nor 'html'")
    near, page = json.loads(done.stdout)
    assert (near["query"], near["found"][0]["key"], near["found"][0]["rule"]) == ("near", "a", "jaccard")
    assert (page["query"], page["found"][0]["key"], page["found"][0]["is_duplicate"]) == ("page", "c", True)
    assert run_dedup(*query, "--allow-rejects", folder=tmp_path).returncode == 0
    assert "`dedup files many.jsonl --against" in run("query", index, "many.jsonl", status=2)
    assert "absent.csv: cannot be read" in run("query", index, "absent.csv", status=2)


def test_an_index_is_built_of_the_database_that_all_commands_read(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=sqlite_url))
    deduplicator.decide([Document("a", make_signature(TEXT), len(TEXT))], deduplicator.open_run("run"))
    deduplicator.database.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEDUP_DATABASE_URL", sqlite_url)
    assert asked("build", "-o", "index")["added"] == 1


def test_query_says_what_a_text_resembles(tmp_path: Path) -> None:
    page = form(200, 20)
    save_index(tmp_path / "index", [("page", page)])
    (answer,) = asked("query", tmp_path / "index", f"text:{filled_in(page)}")
    (found,) = answer["found"]
    assert (found["is_duplicate"], found["is_similar"], found["rule"]) == (False, True, "replaced")
    assert "similar  " in run("query", tmp_path / "index", f"text:{filled_in(page)}")


def test_what_cannot_be_done_is_refused_in_one_line(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.txt").write_text("no index", encoding="utf-8")
    for arguments, message in {
        ("info", "absent"): "absent: not an index; pass a folder that `dedup index build` or --save-index made",
        ("info", "folder"): "folder: not an index",
        ("info", "file.txt"): "file.txt: not an index",
        ("build", "-o", "folder"): "folder: exists and is not an index; choose another path",
        ("build", "-o", "absent/new"): "absent/new: its folder does not exist; create it first",
        ("query", str(index)): "nothing to look up",
        ("query", str(index), "absent.txt"): "no such file: absent.txt (use text:... for a literal text",
        ("query", str(index), "--fingerprint", "xyz"): "--fingerprint 'xyz': expected 16 hexadecimal digits",
        ("query", str(index), "text:a", "--radius", "65"): "--radius 65: expected 0 to 64 bits",
        ("load", "absent", "x.db"): "absent: not an index",
    }.items():
        assert message in run(*arguments, status=2)
    assert "there is no database" in run("build", "--database", "x.db", "-o", "new", status=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt", "folder"]


@pytest.mark.slow
def test_a_file_of_fingerprints_is_looked_up_as_each_of_them(index: Path, tmp_path: Path) -> None:
    stored = make_signature(TEXT).fingerprint
    asked_for = [f"{stored:016x}", f"0x{stored ^ 0b101:016X}", f"{stored ^ (2**64 - 1):016x}"]
    (tmp_path / "asked.txt").write_text("\n".join([*asked_for[:2], "", asked_for[2]]) + "\n")
    query = ("index", "query", index)
    by_file = run_dedup(*query, "--fingerprints", "asked.txt", "--json", folder=tmp_path)
    one_by_one = [option for each in asked_for for option in ("--fingerprint", each)]
    each = run_dedup(*query, *one_by_one, "--json", folder=tmp_path)
    assert (by_file.returncode, by_file.stderr) == (0, "")
    assert by_file.stdout == each.stdout
    answers = json.loads(by_file.stdout)
    assert [hit["distance"] for answer in answers for hit in answer["found"] if hit["key"] == "a"] == [0, 2]
    assert answers[2]["found"] == []
    piped = run_in_process("-m", "dedup", *query, "--fingerprints", "-", input="\n".join(asked_for))
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == run_dedup(*query, *one_by_one, folder=tmp_path).stdout
    assert piped.stdout.splitlines()[0] == f"query {stored:016x}"


def test_a_line_that_is_no_fingerprint_is_named_with_its_file(index: Path, tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text(f"{5:016x}\n\nnonsense\n")
    done = run_dedup("index", "query", index, "--fingerprints", "asked.txt", folder=tmp_path)
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert done.stderr.startswith("error: asked.txt: line 3: 'nonsense': expected 16 hexadecimal digits")
    missing = run_dedup("index", "query", index, "--fingerprints", "missing.txt", folder=tmp_path)
    assert missing.stderr.startswith("error: missing.txt: cannot be read (No such file")
