"""`dedup files` where all was rejected, or some: errors that name the way out, and files of what was rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.commands import run_dedup
from tests.corpus.test_files_command import dedup, rows_of, write
from tests.texts import document

pytestmark = pytest.mark.slow

BODIES: list[dict[str, Any]] = [{"adres": f"http://a/{n}", "verhaal": document(100, n)} for n in range(3)]
ALLOWED = "; --allow-rejects ends with status 0\n"
OUTPUTS: list[list[str]] = [
    ["-o", "out"],
    ["-o", "out", "--format", "parquet"],
    ["--pairs", "pairs.jsonl", "--save-index", "index"],
    ["--save-index", "index"],
    ["--dry-run"],
    ["--dry-run", "--json"],
]


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_corrected_command_runs(outputs: list[str], tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", BODIES)
    done = dedup("in.jsonl", *outputs, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: no document could be read; nothing was written: in.jsonl:1: has neither 'text' nor 'html'; there "
        "are 'adres', 'verhaal'; name that of the text by --text-field; 2 more were rejected\n"
    )
    assert files_of(tmp_path) == {"in.jsonl"}
    done = dedup("in.jsonl", *outputs, "--text-field", "verhaal", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if outputs == ["-o", "out"]:
        assert rows_of(tmp_path / "out/kept.jsonl") == BODIES


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("in.csv", b"a,b\n1,2\n", "in.csv: no column 'text' or 'html'; there are 'a', 'b'; name that of the text by"),
        ("in.warc", b"nothing of the kind", "in.warc: a damaged"),
    ],
)
def test_what_was_wrong_is_named(name: str, data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    done = dedup(name, "-o", "out", "--processes", "1", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr.replace(f"{name}:1: a damaged", f"{name}: a damaged")
    assert files_of(tmp_path) == {name}


def test_an_index_of_nothing_is_not_built(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", BODIES)
    command = ("files", "in.jsonl", "--save-index", "index", "--processes", "1")
    done = run_dedup(*command, folder=tmp_path)
    assert (done.returncode, "--text-field" in done.stderr) == (2, True)
    assert run_dedup(*command, "--text-field", "verhaal", folder=tmp_path).returncode == 0


def test_an_output_that_was_there_stays(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", BODIES)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/kept.jsonl").write_text("earlier", encoding="utf-8")
    done = dedup("in.jsonl", "-o", "out", "--force", "--processes", "1", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (tmp_path / "out/kept.jsonl").read_text(encoding="utf-8") == "earlier"
    assert files_of(tmp_path) == {"in.jsonl", "out/kept.jsonl"}


def test_one_document_is_enough(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*BODIES, {"text": "one"}])
    done = dedup("in.jsonl", "-o", "out", folder=tmp_path)
    assert done.returncode == 3
    assert done.stderr == f"dedup files: 3 rejected: out/rejected.jsonl lists which and why{ALLOWED}"
    assert "rejected    3     in.jsonl:1: has neither" in done.stdout
    assert done.stdout.endswith("\nnext        less out/rejected.jsonl\n")
    assert rows_of(tmp_path / "out/kept.jsonl") == [{"text": "one"}]
    assert [row["source"] for row in rows_of(tmp_path / "out/rejected.jsonl")] == [f"in.jsonl:{n}" for n in (1, 2, 3)]


def test_status_of_a_run_with_rejected_records_is_three_unless_they_are_allowed(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*BODIES, {"text": "one"}])
    allowed = dedup("in.jsonl", "-o", "out", "--allow-rejects", folder=tmp_path)
    assert allowed.returncode == 0
    assert allowed.stderr == "dedup files: 3 rejected: out/rejected.jsonl lists which and why\n"
    unnamed = dedup("in.jsonl", "--dry-run", "--json", folder=tmp_path)
    assert (unnamed.returncode, json.loads(unnamed.stdout)["rejected"]) == (3, 3)
    assert unnamed.stderr == f"dedup files: 3 rejected: -o DIR lists which and why{ALLOWED}"
    table = dedup("in.jsonl", "-o", "table", "--format", "parquet", folder=tmp_path)
    assert table.returncode == 3
    assert [row["source"] for row in pq.read_table(tmp_path / "table/rejected.parquet").to_pylist()] == [
        f"in.jsonl:{number}" for number in (1, 2, 3)
    ]


def test_file_of_what_was_rejected_is_there_only_where_something_was(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [*BODIES, {"text": "one"}])
    assert dedup("in.jsonl", "-o", "out", folder=tmp_path).returncode == 3
    write(tmp_path / "in.jsonl", [{"text": "one"}])
    done = dedup("in.jsonl", "-o", "out", "--force", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert files_of(tmp_path) == {
        "in.jsonl",
        *(f"out/{name}.jsonl" for name in ("kept", "dropped", "similar", "clusters")),
    }
    assert "rejected" not in done.stdout


@pytest.mark.parametrize(("name", "data"), [("in.jsonl", ""), ("in.jsonl", "\n\n"), ("in.csv", "id,text\n")])
def test_of_no_documents_none_are_kept(name: str, data: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(data, encoding="utf-8")
    done = dedup(name, "-o", "out", "--json", folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "dedup files: no documents in the inputs; the outputs are empty\n"
    assert json.loads(done.stdout)["documents"] == 0
    assert rows_of(tmp_path / "out/kept.jsonl") == []
