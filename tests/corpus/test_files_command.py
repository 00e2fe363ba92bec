"""`dedup files` as a user runs it: what it writes, prints, refuses, and how it goes on when it was stopped."""

from __future__ import annotations

import gzip
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import run_dedup, run_in_process
from tests.readers.test_reading import warc_record
from tests.store.test_second_original import STORIES
from tests.texts import document, edited, filled_in, form
from tests.waiting import HANG

TEXT = document(200, "text")
NEAR = edited(TEXT, 4)
OTHER = document(200, "other")
FORM = form(200, 14, "form")
LINES = [
    {"id": "a", "text": TEXT, "n": 1},
    {"id": "b", "text": NEAR},
    {"id": "c", "text": OTHER},
    {"id": "a", "text": TEXT},
]


def dedup(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command, in this process alone if nothing else is said: to start others takes longer than the work."""
    alone = () if "--processes" in arguments else ("--processes", "1")
    return run_dedup("files", *arguments, *alone, folder=folder)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def many(count: int, seed: object = 0) -> list[dict[str, Any]]:
    """Return documents of which a third are copies."""
    random = Random(f"many {seed}")
    texts: list[str] = []
    for i in range(count):
        copied = texts and random.random() < 0.4
        texts.append(
            edited(random.choice(texts), random.randrange(4), (seed, i)) if copied else document(80, (seed, i))
        )
    return [{"id": f"{seed}-{i}", "text": text} for i, text in enumerate(texts)]


def test_a_file_whose_first_records_are_all_rejected_is_named_at_once(tmp_path: Path) -> None:
    write(tmp_path / "bad.jsonl", [{"words": TEXT}] * 250)
    write(tmp_path / "good.jsonl", [{"words": TEXT}] * 99 + LINES + [{"words": TEXT}] * 250)
    done = dedup("bad.jsonl", "good.jsonl", "--dry-run", folder=tmp_path)
    [said] = [line for line in done.stderr.splitlines() if "its first 100 records are rejected" in line]
    assert said.startswith("dedup files: bad.jsonl:100: ")
    assert said.endswith("has neither 'text' nor 'html'; there are 'words'; name that of the text by --text-field")


def test_what_is_similar_is_kept_and_named_in_a_file_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*LINES, {"id": "d", "text": FORM}, {"id": "e", "text": filled_in(FORM)}])
    done = dedup("in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [row] = rows_of(tmp_path / "out/similar.jsonl")
    assert (row["key"], row["original"], row["verdict"], row["rule"]) == ("e", "d", "similar", "replaced")
    assert 0.55 < row["similarity"] < 0.75
    assert row["source"] == "in.jsonl:6"
    assert [kept["id"] for kept in rows_of(tmp_path / "out/kept.jsonl")] == ["a", "c", "d", "e"]
    assert len(rows_of(tmp_path / "out/dropped.jsonl")) == 2
    assert rows_of(tmp_path / "out/clusters.jsonl") == [{"leader": "a", "keys": ["a", "b", "a"]}]
    assert "kept        4 documents   3 new, 1 similar" in done.stdout.splitlines()
    report = json.loads(dedup("in.jsonl", "--dry-run", "--json", folder=tmp_path).stdout)
    assert (report["kept"], report["similar"], report["exact"] + report["near"]) == (4, 1, 2)


@pytest.mark.slow
def test_kept_as_they_came_and_dropped_with_reasons(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    with (tmp_path / "in.jsonl").open("ab") as file:
        file.write(b'{"text": 7}\n')
    done = run_in_process("-m", "dedup", "files", "in.jsonl", "-o", "out", cwd=tmp_path)
    assert done.returncode == 3
    named = "dedup files: 1 rejected: out/rejected.jsonl lists which and why; --allow-rejects ends with status 0\n"
    assert done.stderr == named
    lines = (tmp_path / "in.jsonl").read_text(encoding="utf-8").splitlines()
    assert (tmp_path / "out/kept.jsonl").read_text(encoding="utf-8").splitlines() == [lines[0], lines[2]]
    near, exact = rows_of(tmp_path / "out/dropped.jsonl")
    assert (near["rule"], exact["rule"]) == ("jaccard", "same_text")
    assert (near["key"], near["original"], near["matched"], near["verdict"]) == ("b", "a", "a", "near duplicate")
    assert 0.7 < near["similarity"] < 1
    assert near["source"] == "in.jsonl:2"
    # A key is a name: the second record of a key is a document like any other.
    assert (exact["key"], exact["original"], exact["verdict"], exact["similarity"]) == ("a", "a", "exact duplicate", 1)
    assert rows_of(tmp_path / "out/clusters.jsonl") == [{"leader": "a", "keys": ["a", "b", "a"]}]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "clusters.jsonl",
        "dropped.jsonl",
        "kept.jsonl",
        "rejected.jsonl",
        "similar.jsonl",
    ]
    assert rows_of(tmp_path / "out/rejected.jsonl") == [{"source": "in.jsonl:5", "reason": "'text' is not a string"}]
    report = done.stdout.splitlines()
    assert report[0] == "read        4 documents of 1 file"
    assert report[2] == "kept        2 documents"
    assert report[3] == "dropped     2 documents   1 exact, 1 near"
    assert report[4] == "rejected    1     in.jsonl:5: 'text' is not a string"
    # What was rejected comes before what was dropped.
    assert report[-1] == "next        less out/rejected.jsonl"


@pytest.mark.parametrize(
    "options", [("-o", "out"), ("-o", "out", "--format", "parquet"), ("--pairs", "pairs.jsonl"), ("--dry-run",)]
)
def test_the_last_line_is_a_command_that_shows_what_was_dropped(options: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    *_, last = dedup("in.jsonl", *options, folder=tmp_path).stdout.splitlines()
    label, program, *arguments = shlex.split(last)
    assert label == "next"
    if Path(program).name == "dedup":
        assert dedup(*arguments[1:], folder=tmp_path).returncode == 0
        program, arguments = "less", ["deduplicated/dropped.jsonl"]
    if program == "less":
        # Which is not there everywhere.
        shown = (tmp_path / arguments[0]).read_text(encoding="utf-8")
    else:
        shown = subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert [line.count("same_text") for line in shown.splitlines()] == [0, 1]


def test_the_last_line_is_none_of_what_cannot_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in.jsonl", LINES)
    last = dedup("in.jsonl", "--save-index", "index", folder=tmp_path).stdout.splitlines()[-1]
    assert last.endswith("dedup index info index")
    with (tmp_path / "in.jsonl").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = dedup("-", "--dry-run", folder=tmp_path)
    assert (done.returncode, "dropped     2 documents" in done.stdout, "next" in done.stdout) == (0, True, False)


def test_where_nothing_is_dropped_there_is_nothing_to_show(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES[:1])
    done = dedup("in.jsonl", "-o", "out", folder=tmp_path)
    lines = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert lines == ["read", "time", "kept", "dropped", "written"]


@pytest.mark.slow
def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    done = dedup("in.jsonl", "--dry-run", "--json", "--limit", "2", folder=tmp_path)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert (report["documents"], report["kept"], report["near"]) == (2, 1, 1)
    assert report["largest_clusters"] == [{"leader": "a", "duplicates": 1}]
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.slow
def test_all_formats_in_one_run_to_parquet(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    page = f"<html><body><article><p>{'</p><p>'.join([TEXT, OTHER])}</p></article></body></html>"
    write(folder / "a.jsonl", LINES[:1])
    (folder / "b.csv").write_text(f"url,text\nb,{NEAR}\n", encoding="utf-8")
    pq.write_table(pa.table({"id": ["c", "d"], "text": [OTHER, TEXT.upper()]}), folder / "c.parquet")
    (folder / "d.txt").write_text(document(100, "d"), encoding="utf-8")
    (folder / "e.warc.gz").write_bytes(gzip.compress(warc_record("http://e/", page.encode())) * 2)
    done = dedup("in", "-o", "out", "--format", "parquet", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    kept = pq.read_table(tmp_path / "out/kept.parquet").to_pylist()
    assert [row["key"] for row in kept] == ["a", "c", "d.txt", "http://e/"]
    assert TEXT[:50] in kept[3]["text"]
    dropped = pq.read_table(tmp_path / "out/dropped.parquet").to_pylist()
    assert [(row["key"], row["original"]) for row in dropped] == [("b", "a"), ("d", "a"), ("http://e/", "http://e/")]
    clusters = pq.read_table(tmp_path / "out/clusters.parquet").to_pylist()
    assert clusters == [
        {"leader": "a", "keys": ["a", "b", "d"]},
        {"leader": "http://e/", "keys": ["http://e/", "http://e/"]},
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl"], "nothing to write"),
        (["none.jsonl", "--dry-run"], "none.jsonl: cannot be read"),
        (["in.jsonl", "--pairs", "in.jsonl"], "in.jsonl: is one of the inputs"),
        (["in.jsonl", "--pairs", "link.jsonl", "--force"], "link.jsonl: is one of the inputs"),
        (["in.jsonl", "-o", "out", "--pairs", "out/kept.jsonl"], "two outputs are the same file"),
        (["in.jsonl", "--pairs", "there.jsonl"], "there.jsonl: already exists; choose another path or pass --force"),
        (["one.parquet", "-o", "out", "--format", "parquet", "--cluster-fields"], "have a column 'cluster' already"),
        (["two.jsonl", "-o", "out", "--cluster-fields"], "two.jsonl:2 has a field 'copies' already"),
        (["two.csv", "-o", "out", "--cluster-fields"], "two.csv:2 has a field 'cluster' already"),
        (["in.jsonl", "--pairs", "a.txt"], "a.txt: unknown output format"),
        (["in.jsonl", "--pairs", "none/a.jsonl"], "none/a.jsonl: its folder does not exist"),
        (["in.jsonl", "-o", "-", "--format", "parquet"], "--format parquet: -o - writes JSON lines"),
        (["in.jsonl", "-o", "-", "--pairs", "-"], "two outputs are the same file"),
        (["in.jsonl", "-o", "out", "--dry-run"], "--dry-run writes nothing"),
        (["in.jsonl", "-o", "there.jsonl"], "-o there.jsonl: is a file; name a folder"),
        (["in.jsonl", "--dry-run", "--limit", "0"], "--limit 0: expected more than 0"),
        (["in.jsonl", "--dry-run", "--max-dropped", "50"], "--max-dropped 50: expected a share from 0 to 1"),
        (["in.jsonl", "--dry-run", "--max-dropped", "50%"], "--max-dropped 50%: expected a share from 0 to 1"),
        (
            ["in.jsonl", "--dry-run", "--threshold", ".8", "--set", "min_jaccard=.7"],
            "--threshold .8 and --set min_jaccard=.7: give one of them",
        ),
        (["in.jsonl", "--dry-run", "--set", "text_field=body"], "--set: unknown rule 'text_field'; there are scheme, "),
        (["in.jsonl", "--dry-run", "--set", "threshold=.8"], "--set: unknown rule 'threshold'; did you mean min_jacc"),
        (["in.jsonl", "--dry-run", "--threshold", "8"], "DEDUP_MIN_JACCARD = '8': expected a number from 0 to 1"),
        (["in.jsonl", "--dry-run", "--set", "DEDUP_OUTAGE_TIMEOUT=5"], "outage_timeout: a setting of crawls"),
        (["in.jsonl", "--dry-run", "--set", "mark_only=on"], "mark_only: a setting of crawls"),
        (["in.jsonl", "--dry-run", "--against", "none"], "none: not an index"),
        (["in.jsonl", "--save-index", "there.jsonl", "--force"], "there.jsonl: exists and is not an index"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
) -> None:
    write(tmp_path / "in.jsonl", LINES)
    pq.write_table(pa.table({"text": [TEXT], "cluster": ["c"]}), tmp_path / "one.parquet")
    write(tmp_path / "two.jsonl", [LINES[0], {"text": OTHER, "copies": 3}])
    (tmp_path / "two.csv").write_text(f"text,cluster\n{TEXT},a\n", encoding="utf-8")
    (tmp_path / "there.jsonl").write_text("mine", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to("in.jsonl")
    done = dedup(*arguments, folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert (tmp_path / "there.jsonl").read_text(encoding="utf-8") == "mine"
    assert len(rows_of(tmp_path / "in.jsonl")) == len(LINES)
    assert not list(tmp_path.glob(".*"))


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    # Whoever reads it first says that nothing could be read.
    write(tmp_path / "in.jsonl", [{"words": TEXT}])
    done = dedup("in.jsonl", "--pairs", "pairs.txt", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: pairs.txt: unknown output format")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.slow
def test_new_documents_against_those_of_an_earlier_run(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", LINES[:1])
    write(tmp_path / "new.jsonl", LINES[1:])
    assert dedup("old.jsonl", "--save-index", "index", folder=tmp_path).returncode == 0
    done = dedup("new.jsonl", "--against", "index", "-o", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["id"] for row in rows_of(tmp_path / "out/kept.jsonl")] == ["c"]
    dropped = rows_of(tmp_path / "out/dropped.jsonl")
    assert [(row["key"], row["original"], row["verdict"]) for row in dropped] == [
        ("b", "a", "near duplicate"),
        ("a", "a", "exact duplicate"),
    ]
    other = dedup("new.jsonl", "--against", "index", "--dry-run", "--set", "min_tokens=9", folder=tmp_path)
    assert other.returncode == 2
    assert "made with different settings (min_tokens 20 instead of 9)" in other.stderr


def test_an_index_serves_other_thresholds_and_is_updated_without_force(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", LINES[:1])
    write(tmp_path / "new.jsonl", [{"id": "b", "text": edited(TEXT, 8)}, *LINES[2:]])
    assert dedup("old.jsonl", "--save-index", "index", folder=tmp_path).returncode == 0
    update = ("--against", "index", "--save-index", "./index", "--threshold", "1", "--json")
    report = json.loads(dedup("new.jsonl", *update, folder=tmp_path).stdout)
    assert (report["kept"], report["similar"], report["known"]) == (2, 1, 3)
    assert dedup("new.jsonl", "--save-index", "index", folder=tmp_path).returncode == 2


@pytest.mark.parametrize("order", [(), ("--keep", "longest"), ("--limit", "9")])
def test_a_part_of_the_text_that_no_record_has_is_named(order: tuple[str, ...], tmp_path: Path) -> None:
    rows = [{"title": "One", "article": {"body": TEXT}}, {"title": "Two", "article": {"body": OTHER}, "sub": ""}]
    write(tmp_path / "in.jsonl", rows)
    parts = ("--text-field", "title,name", "--text-field", "headline", "--text-field", "article.body")
    done = dedup("in.jsonl", "--dry-run", *parts, "--text-field", "sub", *order, folder=tmp_path)
    said = "no document has a text in 'headline', 'sub'; see how the fields are spelled"
    assert (done.returncode, done.stderr) == (0, f"dedup files: --text-field: {said}\n")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    assert dedup("in.parquet", "--dry-run", *parts[:2], *parts[4:], *order, folder=tmp_path).stderr == ""


def test_documents_that_an_index_was_made_of_do_not_pass_for_copies(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", LINES[:3])
    write(tmp_path / "new.jsonl", [{"id": "n", "text": TEXT}, {"id": "m", "text": document(200, "new")}, LINES[2]])
    assert dedup("old.jsonl", "--save-index", "index", folder=tmp_path).returncode == 0
    update = ("--against", "index", "--save-index", "index", "-o", "out")
    again = dedup("old.jsonl", *update, folder=tmp_path)
    said = "3 of 3 documents are in the index under their own keys: it was made of them; nothing is written; read new"
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert again.stderr == f"error: index: {said} documents, or save to another index\n"
    assert not list((tmp_path / "out").iterdir())
    done = dedup("new.jsonl", *update, folder=tmp_path)
    said = "dedup files: 1 of 3 documents are in the index under their own keys: it was made of them\n"
    assert (done.returncode, done.stderr) == (0, said)


@pytest.mark.parametrize(("suffix", "stop"), [("jsonl", signal.SIGKILL), ("parquet", signal.SIGINT)])
@pytest.mark.slow
def test_a_run_that_was_killed_or_stopped_writes_nothing_and_the_next_one_all(
    suffix: str, stop: signal.Signals, tmp_path: Path
) -> None:
    write(tmp_path / "in.jsonl", many(1500, "x"))
    arguments = ["in.jsonl", "--format", suffix, "--processes", "1", "-o", "out"]
    done = run_in_process("-c", STOPPED, int(stop), "files", *arguments, cwd=tmp_path)
    assert done.returncode == (-stop if stop == signal.SIGKILL else 130)
    assert ("interrupted; nothing was written" in done.stderr) == (stop == signal.SIGINT)
    assert not list((tmp_path / "out").glob(f"*.{suffix}"))
    assert dedup(*arguments, folder=tmp_path).returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"{name}.{suffix}" for name in ("kept", "dropped", "similar", "clusters")
    }


# Sends itself a signal once documents are written; what is left to read are many ranges.
STOPPED = """
import os, sys
from dedup.cli.main import run_and_exit
from dedup.readers import jsonl
from dedup.corpus.writing import Writer

jsonl.RANGE_BYTES = 20_000
write, stop = Writer.write, int(sys.argv.pop(1))

def write_and_stop(*arguments):
    write(*arguments)
    os.kill(os.getpid(), stop)

Writer.write = write_and_stop
run_and_exit()
"""

# Is killed once a step is done; or may not do it, since an earlier process has.
KILLED = """
import os, sys
from dedup.cli.main import run_and_exit
from dedup.corpus.run import Steps

name, is_there = sys.argv.pop(1).split()

def kill(*arguments):
    os._exit(9)

once = Steps.once

def once_and_die(self, step, make):
    if is_there == "done" and step == name:
        make = kill
    value = once(self, step, make)
    if is_there == "new" and step == name:
        kill()
    return value

Steps.once = once_and_die
run_and_exit()
"""


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_with_the_step_that_was_not_done(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*many(300, "longest"), {"id": 7, "text": "a b"}])
    (tmp_path / "in.csv").write_text(f"id,text\nc,{TEXT}\nd\n", encoding="utf-8")
    arguments = ("files", "in.jsonl", "in.csv", "--keep", "longest", "--allow-rejects", "--processes", "1", "-o")
    assert run_in_process("-m", "dedup", *arguments, "wanted", cwd=tmp_path).returncode == 0
    for name in ("read", "paired", "decided"):
        for is_there in ("new", "done"):
            done = run_in_process("-c", KILLED, f"{name} {is_there}", *arguments, "out", cwd=tmp_path)
            assert (done.returncode, is_there) in ((9, "new"), (0, "done")), done.stderr
        for path in (tmp_path / "wanted").iterdir():
            assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
            (tmp_path / "out" / path.name).unlink()
        assert list((tmp_path / "out").iterdir()) == []
    # Of other files, or other options, nothing is taken over.
    for more in ((), ("--limit", "200")):
        assert run_in_process("-c", KILLED, "read new", *arguments, "out", cwd=tmp_path).returncode == 9
        if not more:
            write(tmp_path / "in.jsonl", [*rows_of(tmp_path / "in.jsonl"), {"id": "more", "text": OTHER}])
        assert run_in_process("-c", KILLED, "read done", *arguments, "out", *more, cwd=tmp_path).returncode == 9


def test_standard_input_is_read_and_outputs_are_compressed_as_their_format_says(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in [*LINES, {"text": OTHER}])
    command = ("files", "-", "-o", "out", "--format", "jsonl.gz")
    done = run_in_process("-m", "dedup", *command, cwd=tmp_path, input=lines)
    assert done.returncode == 0, done.stderr
    with gzip.open(tmp_path / "out/kept.jsonl.gz", "rt", encoding="utf-8") as kept:
        assert [json.loads(line)["id"] for line in kept] == ["a", "c"]
    with gzip.open(tmp_path / "out/dropped.jsonl.gz", "rt", encoding="utf-8") as dropped:
        *_, last = map(json.loads, dropped)
    assert (last["key"], last["source"], last["original"]) == ("-:5", "-:5", "c")


def test_kept_documents_may_go_to_standard_output_and_the_report_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES)
    done = dedup("in.jsonl", "-o", "-", "--pairs", "pairs.jsonl", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "c"]
    assert json.loads(done.stderr)["documents"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "pairs.jsonl"]
    pairs = dedup("in.jsonl", "--pairs", "-", folder=tmp_path).stdout
    assert pairs == (tmp_path / "pairs.jsonl").read_text(encoding="utf-8")


@pytest.mark.slow
def test_who_reads_no_further_ends_the_command_without_an_error(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [{"id": str(i), "text": document(600, i)} for i in range(40)])
    line = f"{shlex.quote(sys.executable)} -m dedup files in.jsonl -o - | head -c 1"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=HANG, check=True)
    assert done.stdout == "{"
    assert "error" not in done.stderr


def test_a_source_of_which_most_goes_is_named_and_may_stop_the_run(tmp_path: Path) -> None:
    write(tmp_path / "new.jsonl", [{"id": f"n{i}", "text": document(40, i)} for i in range(100)])
    write(tmp_path / "old.jsonl", [{"id": f"o{i}", "text": edited(TEXT, i % 3 + 1, i)} for i in range(100)])
    inputs = ("new.jsonl", "old.jsonl")
    done = dedup(*inputs, "--pairs", "pairs.jsonl", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    counts = report["sources"]
    assert counts["new.jsonl"] == {"documents": 100, "dropped": 0}
    assert counts["old.jsonl"]["dropped"] == report["near"] + report["exact"] > 50
    assert sum(report["histogram"].values()) == report["near"]
    assert set(report["histogram"]) <= {".7", ".8", ".9"}
    assert f"old.jsonl: {counts['old.jsonl']['dropped']} of 100 documents are dropped; look at them" in done.stderr
    pairs = rows_of(tmp_path / "pairs.jsonl")
    assert len(pairs) == report["near"] + report["exact"] + report["similar"]
    assert all(0.5 < pair["similarity"] <= 1 and pair["a"][0] == pair["b"][0] == "o" for pair in pairs)
    refused = dedup(*inputs, "-o", "out", "--save-index", "index", "--max-dropped", ".5", folder=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.endswith("documents are dropped, more than --max-dropped 0.5: nothing is written\n")
    assert not list((tmp_path / "out").iterdir())
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_kept_documents_carry_their_clusters(name: str, suffix: str, tmp_path: Path) -> None:
    rows = [*LINES, {"id": "+", "text": "+"}, {"id": "d", "text": f"{TEXT} {document(60, 'd')}"}]
    write(tmp_path / "in.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    done = dedup(name, "-o", "out", "--format", suffix, "--cluster-fields", folder=tmp_path)
    assert done.returncode == 0, done.stderr

    def written(output: str) -> list[dict[str, Any]]:
        path = tmp_path / f"out/{output}.{suffix}"
        if suffix == "parquet":
            return pq.read_table(path).to_pylist()
        opened: Any = gzip.open if suffix.endswith("gz") else open
        with opened(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    found = written("kept")
    [cluster] = written("clusters")
    assert cluster == {"leader": "a", "keys": ["a", "b", "a"]}
    assert [(row.get("id") or row["key"], row["copies"], row["cluster"]) for row in found] == [
        ("a", 3, "a"),
        ("c", 1, "c"),
        ("+", 1, None),
        ("d", 1, "d"),
    ]
    assert [name for name in found[0] if name not in ("copies", "cluster")] == (
        ["key", "text", "source", "record"] if (name, suffix) == ("in.jsonl", "parquet") else ["id", "text", "n"]
    )


@pytest.mark.parametrize("rules", [(), ("--set", "mode=paper", "--set", "radius=12")])
def test_copies_sum_up_to_the_documents_read_but_for_copies_of_an_index(rules: tuple[str, ...], tmp_path: Path) -> None:
    joined = [{"id": name, "text": STORIES[name]} for name in ("a", "b", "twin", "c", "twin", "later", "twin")]
    rows = [*LINES, {"id": "d", "text": f"{TEXT} {document(60, 'd')}"}, {"id": "+", "text": "+"}, *joined, *many(60)]
    write(tmp_path / "in.jsonl", rows)
    write(tmp_path / "known.jsonl", rows[::6])
    assert dedup("known.jsonl", "--save-index", "known", *rules, folder=tmp_path).returncode == 0
    for against in ((), ("--against", "known")):
        done = dedup("in.jsonl", "-o", "out", "--cluster-fields", "--force", *against, *rules, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        kept, dropped = (rows_of(tmp_path / f"out/{name}.jsonl") for name in ("kept", "dropped"))
        originals = {row["id"] for row in kept}
        of_index = [row for row in dropped if row["original"] not in originals]
        assert bool(of_index) == bool(against)
        assert sum(row["copies"] for row in kept) == len(rows) - len(of_index)


def test_two_runs_do_not_write_the_same_outputs(tmp_path: Path) -> None:
    import fcntl

    write(tmp_path / "in.jsonl", LINES)
    folder = tmp_path / "out/.kept.jsonl.work"
    folder.mkdir(parents=True)
    with (folder / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = dedup("in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert "another process is writing" in done.stderr
