"""What worker processes share is as little as the beginnings of files ask for."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dedup.readers.documents import ReadOptions
from dedup.readers.files import find_files, preloads
from tests.commands import run_in_process, run_python
from tests.waiting import HANG

PLAIN = '{"id": 1, "text": "words of html — “quoted”, naïve"}\n'
ALL = ("dedup.workers.preloaded", "dedup.corpus.preloaded")


def preloads_of(*paths: Path, html_field: str = "html") -> tuple[str, ...]:
    return preloads(find_files(paths).files, ReadOptions(html_field=html_field))


def test_lines_of_texts_in_scripts_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(PLAIN, encoding="utf-8")
    assert preloads_of(path) == ("dedup.corpus.preloaded",)


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("line", [{"html": "<p>page"}, {"text": "中文"}])
def test_pages_and_chinese(line: dict[str, str], ensure_ascii: bool, tmp_path: Path) -> None:
    plain, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    plain.write_text(PLAIN, encoding="utf-8")
    other.write_text(PLAIN + json.dumps(line, ensure_ascii=ensure_ascii), encoding="utf-8")
    assert preloads_of(plain, other) == ALL


def test_a_field_of_another_name_holds_pages(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"página": "<p>page"}', encoding="utf-8")
    assert preloads_of(path) == ("dedup.corpus.preloaded",)
    assert preloads_of(path, html_field="página") == ALL


def test_files_of_other_formats(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,text\n1,a text\n", encoding="utf-8")
    with gzip.open(tmp_path / "c.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(PLAIN)
    assert preloads_of(*tmp_path.iterdir()) == ("dedup.corpus.preloaded",)
    (tmp_path / "d.html").write_text("<p>page", encoding="utf-8")
    assert preloads_of(tmp_path / "d.html") == ALL


@pytest.mark.slow
def test_what_is_shared_signs_lines_without_the_parser_and_the_dictionary() -> None:
    code = "import sys, dedup.corpus.preloaded; print({'trafilatura', 'jieba'} & sys.modules.keys())"
    assert run_python(code) == "set()\n"


@pytest.mark.slow
def test_modules_in_the_folder_are_not_taken_for_those_of_workers(tmp_path: Path) -> None:
    for name in ("dedup", "regex"):
        (tmp_path / f"{name}.py").write_text("", encoding="utf-8")
    line = json.dumps({"text": "the same words"}) + "\n"
    (tmp_path / "in.jsonl").write_text(2 * line, encoding="utf-8")
    # The path of an installed command does not begin with the folder that it runs in.
    code = "import sys; sys.path.remove(''); from dedup.cli.main import run_and_exit; run_and_exit()"
    done = run_in_process("-c", code, "files", "in.jsonl", "-o", "-", cwd=tmp_path)
    assert done.stdout == line, done.stderr


@pytest.mark.slow
def test_documents_that_nobody_expected_are_analysed_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    chance = random.Random(1)
    lines = [
        {"id": f"{number}", "text": " ".join(f"word{chance.randrange(10**6)}" for _ in range(60))}
        for number in range(200)
    ]
    late = [{"id": "page", "html": "<p>a page</p>" * 50}, {"id": "chinese", "text": "这是一个中文的句子。" * 20}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines + late + late), encoding="utf-8")
    assert preloads_of(path) == ("dedup.corpus.preloaded",)
    command = [sys.executable, "-m", "dedup", "files", str(path), "-o", str(tmp_path / "out")]
    subprocess.run(command, capture_output=True, timeout=HANG, check=True)
    dropped = [json.loads(line) for line in (tmp_path / "out" / "dropped.jsonl").read_text().splitlines()]
    assert [row["key"] for row in dropped if row["verdict"] == "exact duplicate"][-2:] == ["page", "chinese"]
