"""`scrapy duplicates` as a user runs it: outside a project, and in one."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dedup import DedupSettings, make_signature
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Document
from tests.commands import run_dedup
from tests.crawling import run
from tests.waiting import HANG

pytestmark = pytest.mark.slow

TEXT = " ".join(f"word{number}" for number in range(100))
DROPPED = "https://news.example/%E6%B8%AF?copy"


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


def duplicates(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scrapy", "duplicates", *options]
    if not environment:
        done = run(command, folder=folder)
        return subprocess.CompletedProcess(command, done.status, done.stdout, done.stderr)
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=HANG,
        check=False,
    )


def test_table_of_the_last_run_outside_a_project(tmp_path: Path, database_url: str) -> None:
    finished = duplicates(tmp_path, "--database", database_url, PYTHONIOENCODING="utf-8")
    assert finished.stderr == ""
    assert finished.returncode == 0
    assert finished.stdout.startswith("run tuesday\n")
    assert "exact           0        1.00  same_text  https://news.example/港?copy" in finished.stdout


def test_dedup_has_the_same_command(tmp_path: Path, database_url: str) -> None:
    options = ("--database", database_url, "--all-runs", "--format", "json")
    finished = run_dedup("duplicates", *options, folder=tmp_path)
    assert (finished.stdout, finished.returncode) == (duplicates(tmp_path, *options).stdout, 0)
    missing = run_dedup("duplicates", folder=tmp_path)
    assert (missing.stderr, missing.returncode) == (duplicates(tmp_path).stderr, 1)


def test_terminal_without_chinese_letters_gets_escapes(tmp_path: Path, database_url: str) -> None:
    finished = duplicates(tmp_path, "--database", database_url, PYTHONIOENCODING="ascii")
    assert r"https://news.example/\u6e2f?copy" in finished.stdout
    assert finished.returncode == 0


def test_options_choose_run_host_and_number(tmp_path: Path, database_url: str) -> None:
    options = ("--database", database_url, "--format", "json")
    monday = json.loads(duplicates(tmp_path, *options, "--run", "monday").stdout)
    assert [row["dropped"] for row in monday["duplicates"]] == ["https://old.example/copy"]
    everything = json.loads(duplicates(tmp_path, *options, "--all-runs", "--top", "1").stdout)
    assert everything["runs"] == ["monday", "tuesday"]
    assert (everything["host_count"], len(everything["hosts"])) == (2, 1)
    host = json.loads(duplicates(tmp_path, *options, "--all-runs", "--host", "old.example").stdout)
    assert [row["dropped"] for row in host["duplicates"]] == ["https://old.example/copy"]


@pytest.mark.parametrize("top", ["10001", "9" * 400])
def test_a_number_beyond_what_there_is_shows_all(tmp_path: Path, database_url: str, top: str) -> None:
    everything = json.loads(
        duplicates(tmp_path, "--database", database_url, "--format", "json", "--all-runs", "--top", top).stdout
    )
    assert (everything["host_count"], len(everything["hosts"])) == (2, 2)
    assert (everything["cluster_count"], len(everything["clusters"])) == (1, 1)


def test_file_is_written_in_the_format_of_its_name(tmp_path: Path, database_url: str) -> None:
    finished = duplicates(tmp_path, "--database", database_url, "-o", "report.csv")
    assert (finished.stdout, finished.stderr, finished.returncode) == ("", "", 0)
    with (tmp_path / "report.csv").open(encoding="utf-8", newline="") as file:
        assert [row["dropped"] for row in csv.DictReader(file)] == [DROPPED]
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]


def test_format_goes_before_the_name_of_the_file(tmp_path: Path, database_url: str) -> None:
    duplicates(tmp_path, "--database", database_url, "-o", "report.csv", "--format", "json")
    assert json.loads((tmp_path / "report.csv").read_text())["runs"] == ["tuesday"]


def test_project_settings_name_the_database(tmp_path: Path) -> None:
    fill(f"sqlite:///{tmp_path / 'project.db'}")
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (tmp_path / "project_settings.py").write_text("DEDUP_DATABASE_URL = 'sqlite:///project.db'\n")
    finished = duplicates(tmp_path)
    assert finished.stderr == ""
    assert finished.stdout.startswith("run tuesday\n")


def test_setting_on_the_command_line_names_the_database(tmp_path: Path, database_url: str) -> None:
    assert duplicates(tmp_path, "-s", f"DEDUP_DATABASE_URL={database_url}").stdout.startswith("run tuesday\n")


def test_reader_that_has_gone_ends_it_quietly(tmp_path: Path, database_url: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    # Without a buffer there would be nothing left to fail when the interpreter ends.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        finished = subprocess.run(
            [sys.executable, "-m", "scrapy", "duplicates", "--database", database_url],
            cwd=tmp_path,
            env=buffered,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=HANG,
            check=False,
        )
    finally:
        os.close(writer)
    assert (finished.stderr, finished.returncode) == (b"", 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--run", "x", "--all-runs"], "--run and --all-runs exclude each other: give one of them"),
        (["--top", "many"], "--top 'many': expected a whole number from 0 up"),
        (["--top", "-1"], "--top '-1': expected a whole number from 0 up"),
        (["--watch", "-o", "x.csv"], "--watch draws one run on the terminal: leave out -o, --format"),
        (["--watch", "--all-runs"], "--watch draws one run on the terminal: leave out -o, --format, --all-runs"),
        (["--changes", "a", "b", "c"], "--changes compares two runs, and 3 are named"),
        (["--changes", "--run", "a"], "--changes names its runs itself"),
        (["--format", "xml"], "--format 'xml': expected one of table, json, csv"),
        (["--hots", "news.example"], "'--hots' is not understood: scrapy duplicates -h lists the options"),
        (["--database", "mysql://x/y"], "databases of the kind 'mysql' are not supported"),
        (["-s", "DEDUP_TABLES=3 choose 1"], "DEDUP_TABLES = '3 choose 1': expected 'N choose R'"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(tmp_path: Path, options: list[str], message: str) -> None:
    finished = duplicates(tmp_path, *options)
    assert finished.stderr.startswith(f"error: {message}")
    assert finished.stderr.count("\n") == 1
    assert (finished.stdout, finished.returncode) == ("", 2)


def test_missing_database_is_one_line_and_status_1(tmp_path: Path) -> None:
    finished = duplicates(tmp_path)
    assert finished.stderr == "error: there is no database sqlite:///crawl.db: run a crawl first, or name another\n"
    assert (finished.stdout, finished.returncode) == ("", 1)
    assert list(tmp_path.iterdir()) == []


def test_unknown_run_is_one_line_and_status_1(tmp_path: Path, database_url: str) -> None:
    finished = duplicates(tmp_path, "--database", database_url, "--run", "x", "-o", "report.json")
    assert finished.stderr == (
        f"error: database {database_url} holds no run 'x': the last ones are 'tuesday', 'monday'\n"
    )
    assert finished.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_file_that_cannot_be_written_is_one_line_and_status_1(tmp_path: Path, database_url: str) -> None:
    finished = duplicates(tmp_path, "--database", database_url, "-o", "missing/report.json")
    assert finished.stderr == "error: cannot write missing/report.json: No such file or directory\n"
    assert finished.returncode == 1
