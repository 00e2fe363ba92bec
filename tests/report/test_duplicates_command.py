"""`dedup duplicates` as a user runs it: outside a Scrapy project, and in one."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupSettings, make_signature
from dedup.addresses.evidence import PAIRS
from dedup.rules.documents import Document
from dedup.store.deduplicator import Deduplicator
from tests.commands import run_dedup, run_in_process
from tests.crawling import run
from tests.report.renderings import data_in

TEXT = " ".join(f"word{number}" for number in range(100))
DROPPED = "https://news.example/%E6%B8%AF?copy"
MISSING = "error: there is no database sqlite:///crawl.db: run a crawl first, or name another\n"


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with the runs `monday` and `tuesday`, each with one duplicate."""
    url = f"sqlite:///{tmp_path_factory.mktemp('crawl') / 'crawl.db'}"
    fill(url)
    return url


def fill(url: str) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=url))
    for name, keys in (
        ("monday", ["https://news.example/%E6%B8%AF", "https://old.example/copy"]),
        ("tuesday", [DROPPED]),
    ):
        run_id = deduplicator.open_run(name)
        deduplicator.decide([Document(key, make_signature(TEXT), len(TEXT)) for key in keys], run_id)
        deduplicator.close_run(run_id, "finished")
    deduplicator.database.close()


def duplicates(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_dedup("duplicates", *options, folder=folder)


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "港"), ("ascii", r"\u6e2f")])
def test_table_of_the_last_run_in_any_encoding(
    encoding: str, shown: str, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    finished = run([sys.executable, "-m", "dedup", "duplicates", "--database", database_url], folder=tmp_path)
    assert (finished.stderr, finished.status) == ("", 0)
    assert finished.stdout.startswith("news.example, run tuesday, ")
    assert f"exact      100%  /{shown}?copy  the same text\n" in finished.stdout


@pytest.mark.slow
def test_in_a_project_its_settings_name_the_database(tmp_path: Path) -> None:
    missing = duplicates(tmp_path)
    assert (missing.stderr, missing.returncode) == (MISSING, 1)
    fill(f"sqlite:///{tmp_path / 'project.db'}")
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (tmp_path / "project_settings.py").write_text("DEDUP_DATABASE_URL = 'sqlite:///project.db'\n")
    finished = duplicates(tmp_path)
    assert (finished.stderr, finished.stdout.startswith("news.example, run tuesday, ")) == ("", True)


@pytest.mark.slow
def test_reader_that_has_gone_ends_it_quietly(tmp_path: Path, database_url: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    # Without a buffer there would be nothing left to fail when the interpreter ends.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        command = ("-m", "dedup", "duplicates", "--database", database_url)
        finished = run_in_process(*command, cwd=tmp_path, env=buffered, stdout=writer)
    finally:
        os.close(writer)
    assert (finished.stderr, finished.returncode) == ("", 0)


# Its options


def test_options_choose_run_host_and_number(tmp_path: Path, database_url: str) -> None:
    def facts(*options: str) -> Any:
        return json.loads(duplicates(tmp_path, "--database", database_url, "--format", "json", *options).stdout)

    assert [row["dropped"] for row in facts("--run", "monday")["duplicates"]] == ["https://old.example/copy"]
    host = facts("--all-runs", "--host", "old.example")
    assert [row["dropped"] for row in host["duplicates"]] == ["https://old.example/copy"]
    everything = facts("--all-runs", "--all")
    assert everything["runs"] == ["monday", "tuesday"]
    assert (everything["host_count"], len(everything["hosts"])) == (2, 2)
    assert (everything["cluster_count"], len(everything["clusters"])) == (1, 1)


def test_rules_by_which_addresses_lead_to_copies_are_told(tmp_path: Path, database_url: str) -> None:
    assert duplicates(tmp_path, "--database", database_url, "--rules").stdout.startswith("no rule is known yet")
    url = f"sqlite:///{tmp_path / 'learnt.db'}"
    deduplicator = Deduplicator(DedupSettings(database_url=url))
    run_id = deduplicator.open_run("a")
    same = [[f"forum/{number}?sid={sid}" for sid in (1, 2)] for number in range(PAIRS)]
    same += [[f"t/{number}.html", f"t/{number}"] for number in range(PAIRS)]
    for paths in [*same, ["gallery/1?sid=1"], ["gallery/1?sid=2"]]:
        text = " ".join(f"{paths[0]}x{place}" for place in range(100))
        keys = [f"https://a.example/{path}" for path in paths]
        deduplicator.decide([Document(key, make_signature(text), len(text)) for key in keys], run_id)
    deduplicator.close_run(run_id, "finished")
    deduplicator.database.close()
    told = duplicates(tmp_path, "--database", url, "--rules").stdout.splitlines()
    example = ["/forum/0?sid=2", "=", "/forum/0?sid=1"]
    rows = [["/forum/", "10", "/gallery/", "(1", "page)", *example], ["/t/", "10", "/t/0", "=", "/t/0.html"]]
    assert [line.split() for line in told[1:]] == [
        ["a.example", "without", "sid", *rows[0]],
        ["a.example", "without", ".html", "at", "the", "end", *rows[1]],
    ]
    assert duplicates(tmp_path, "--database", url, "--rules", "--host", "b.example").stdout.startswith("no rule is")
    finished = duplicates(tmp_path, "--database", url, "--rules", "--format", "json")
    assert finished.stderr == "1 rule of kinds that these files do not know left out\n"
    pattern = {"include": ["a.example/forum/"], "exclude": ["a.example/gallery/"]}
    expected = {"order": 100, "urlPattern": pattern, "processor": "queryRemoval", "args": ["sid"]}
    assert json.loads(finished.stdout) == [expected]
    duplicates(tmp_path, "--database", url, "-o", "report.html")
    sid, html = data_in(tmp_path / "report.html")["address_rules"]
    assert sid[:5] == ["a.example", "without sid", "/forum/", "10", "/gallery/ (1 page)"]
    assert html[1:] == ["without .html at the end", "/t/", "10", "", [[f"/t/{n}", f"/t/{n}.html"] for n in (0, 1)]]


def test_file_is_written_in_the_format_of_its_name_unless_another_is_given(tmp_path: Path, database_url: str) -> None:
    finished = duplicates(tmp_path, "--database", database_url, "-o", "report.csv")
    assert (finished.stdout, finished.stderr, finished.returncode) == ("", "", 0)
    with (tmp_path / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["dropped"] for row in csv.DictReader(file)] == [DROPPED]
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]
    duplicates(tmp_path, "--database", database_url, "-o", "report.csv", "--format", "json")
    assert json.loads((tmp_path / "report.csv").read_text())["runs"] == ["tuesday"]


@pytest.mark.parametrize("given", [(), ("--changes", "monday", "tuesday")])
def test_csv_in_a_file_has_the_mark_by_which_excel_knows_utf_8(
    tmp_path: Path, database_url: str, given: tuple[str, ...]
) -> None:
    printed = duplicates(tmp_path, "--database", database_url, *given, "--format", "csv").stdout
    duplicates(tmp_path, "--database", database_url, *given, "-o", "report.csv")
    assert (tmp_path / "report.csv").read_bytes() == b"\xef\xbb\xbf" + printed.encode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--run", "x", "--all-runs"], "--run and --all-runs exclude each other: give one of them"),
        (["--changes", "a", "b", "c"], "--changes compares two runs, and 3 are named"),
        (["--changes", "--run", "a"], "--changes names its runs itself"),
        (["--changes", "-o", "changes.html"], "--changes is written as table, json or csv"),
        (["--rules", "--run", "a"], "--rules are those of all runs together"),
        (["--rules", "-o", "rules.csv"], "--rules are written as table or json"),
        (["--format", "xml"], "--format 'xml': expected one of table, json, csv"),
        (["-o", "report.xml"], "-o report.xml: there is no format 'xml' of a report"),
        (["--database", "mysql://x/y"], "databases of the kind 'mysql' are not supported"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(tmp_path: Path, options: list[str], message: str) -> None:
    finished = duplicates(tmp_path, *options)
    assert finished.stderr.startswith(f"error: {message}")
    assert (finished.stderr.count("\n"), finished.stdout, finished.returncode) == (1, "", 2)


def test_what_is_not_there_is_one_line_and_status_1(tmp_path: Path, database_url: str) -> None:
    unknown = f"error: database {database_url} holds no run 'x': the last ones are 'tuesday', 'monday'\n"
    for options, told in (
        ((), MISSING),
        (("--database", database_url, "--run", "x", "-o", "report.json"), unknown),
    ):
        finished = duplicates(tmp_path, *options)
        assert (finished.stderr, finished.stdout, finished.returncode) == (told, "", 1)
        assert list(tmp_path.iterdir()) == []
