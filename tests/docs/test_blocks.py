"""Every block of the documentation that can be run is run, and prints what is shown."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from dedup.cli.main import main
from dedup.rules.settings import DedupSettings
from dedup.stage.item_settings import ItemSettings
from tests.commands import run_in_process
from tests.crawling import environment, pages_in, runs_in
from tests.docs.commands import commands_in
from tests.docs.examples import make_database, make_examples
from tests.docs.pages import ROOT, Block, all_blocks
from tests.docs.settings_table import KNOWN

_RUN = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_CRAWL = "-m crawler.demo crawl"
# What is different each time.
_CHANGING = (
    (_RUN, "RUN"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(r"\d+:\d\d:\d\d"), "TIME"),
    (re.compile(r"[\d,]+ a second"), "RATE"),
    (re.compile(r"(?<=crawl\.db, )[\d,]+ kB"), "SIZE"),
    (re.compile(r"\S*(dedup (?:duplicates|explain))"), r"\1"),
    (re.compile(r"\s+"), " "),
)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_examples(tmp_path)
    make_database(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_in(folder: Path, *arguments: str) -> str:
    done = run_in_process(*arguments, cwd=folder, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def run_dedup(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(arguments) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    return captured.out + captured.err


def require_shown(shown: str, output: str) -> None:
    """Require that each line that is shown is one of the output; `...` stands for anything."""
    lines = [fixed(line) for line in output.splitlines()]
    for line in shown.splitlines():
        pattern = ".*".join(re.escape(part) for part in fixed(line).split("..."))
        assert any(re.fullmatch(pattern, each) for each in lines), f"not printed: {line}\n\n{output}"


def fixed(line: str) -> str:
    for pattern, name in _CHANGING:
        line = pattern.sub(name, line)
    return line.strip()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in all_blocks("sh") if block.mark == "run"], ids=str)
def test_commands_end_well(block: Block, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands_in(block.text):
        assert words[0] == "dedup"
        run_dedup(words[1:], capsys)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in all_blocks("console") if block.mark == "files"], ids=str)
def test_screen_of_files(block: Block, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, shown = block.text.removeprefix("$ dedup ").partition("\n")
    require_shown(shown, run_dedup(shlex.split(command), capsys))


@pytest.mark.thorough
@pytest.mark.slow
def test_screens_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # One test, so that there is one crawl.
    shutil.copy(ROOT / "scrapy.cfg", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    printed = run_in(tmp_path, *_CRAWL.split())
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    [name] = [run.name for run in runs_in(url)]
    [front] = [page["url"] for page in pages_in(url) if page["depth"] == 0]
    monkeypatch.chdir(tmp_path)
    outputs = {"make crawl": printed}
    # What takes the run back comes last.
    for block in sorted(demo_blocks(), key=lambda block: "cancel" in block.text):
        command, _, shown = block.text.removeprefix("$ ").partition("\n")
        if command not in outputs:
            program, *arguments = shlex.split(_RUN.sub(name, command).replace("http://127.0.0.1:8817/", front))
            is_scrapy = program == "scrapy"
            output = run_in(tmp_path, "-m", program, *arguments) if is_scrapy else run_dedup(arguments, capsys)
            outputs[command] = output
        require_shown(shown, outputs[command])


def demo_blocks() -> list[Block]:
    return [block for block in all_blocks("console") if block.mark == "demo"]


def test_the_demo_is_crawled_as_make_does() -> None:
    assert _CRAWL in (ROOT / "Makefile").read_text(encoding="utf-8")


def _with_output() -> list[Any]:
    blocks = all_blocks("python", "output")
    following = zip(blocks, [*blocks[1:], None], strict=True)
    return [
        pytest.param(block, after.text if after is not None and after.language == "output" else None, id=str(block))
        for block, after in following
        # Those with a session of Spark are run in tests/spark.
        if block.language == "python" and block.mark != "spark"
    ]


@pytest.mark.parametrize(("block", "output"), _with_output())
def test_python(block: Block, output: str | None, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "documentation"}
    exec(compile(block.text, str(block), "exec"), names)
    if output is not None:
        assert capsys.readouterr().out == output
    if block.mark == "settings":
        settings = {name for name in names if name.startswith(("DEDUP_", "CRAWLER_"))}
        assert settings <= KNOWN
        DedupSettings.read(names.get)
        ItemSettings.read(names.get)
