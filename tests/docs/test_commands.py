"""Every command that the documentation names can be given: its program, its options, its settings."""

from __future__ import annotations

import shlex

import pytest

from benchmarks.__main__ import BENCHMARKS
from tests.docs.commands import PROGRAMS, WrongCommandError, check, commands_in
from tests.docs.pages import PAGES, ROOT, Block, all_blocks, code_of

_STARTS = tuple(f"{program} " for program in ("dedup", "scrapy", "make", "pip", "python -m"))
_IN_PROSE = sorted({code for page in PAGES for code in code_of(page) if code.startswith(_STARTS)})


@pytest.mark.parametrize("block", all_blocks("sh"), ids=str)
def test_block(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = list(commands_in(block.text))
    assert commands
    for words in commands:
        check(words, monkeypatch)


@pytest.mark.parametrize("block", all_blocks("console"), ids=str)
def test_command_of_a_screen(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    assert block.text.startswith("$ ")
    for line in block.text.splitlines():
        if line.startswith("$ "):
            check(shlex.split(line.removeprefix("$ ")), monkeypatch)


@pytest.mark.parametrize("block", all_blocks("dockerfile"), ids=str)
def test_commands_of_an_image(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in block.text.splitlines():
        for words in commands_in(line.removeprefix("RUN ")):
            check(words, monkeypatch)


@pytest.mark.parametrize("code", _IN_PROSE)
def test_command_in_running_text(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(code)
    # Where no option is named, arguments may be left out too: the command as such has to exist.
    is_name = words[0] == "dedup" and not any(word.startswith("-") for word in words)
    check([*words, "-h"] if is_name else words, monkeypatch)


@pytest.mark.parametrize("code", [code for code in code_of(ROOT / "CONTRIBUTING.md") if code.split()[0] in BENCHMARKS])
def test_benchmark_of_the_table(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(shlex.split(f"python -m benchmarks {code}"), monkeypatch)


@pytest.mark.parametrize(
    "wrong",
    [
        "dedup fil x.jsonl",
        "dedup files x.jsonl --no-such-option",
        "dedup files",
        "scrapy duplicate",
        "scrapy duplicates --no-such-option",
        "scrapy crawl site -a pages=3",
        "scrapy crawl site -s DEDUP_NO=1",
        "make no-such-target",
        "make crawl NO=1",
        "pip install 'scrapy-neardup[no]'",
        "python -m benchmarks no",
        "python -m benchmarks files --no",
        "export DEDUP_NO=1",
        "rm -r x",
    ],
)
def test_wrong_command_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongCommandError):
        check(shlex.split(wrong), monkeypatch)


def test_programs_are_those_of_the_messages() -> None:
    programs = {words[0].removeprefix(".venv/bin/") for block in all_blocks("sh") for words in commands_in(block.text)}
    assert programs <= set(PROGRAMS)
