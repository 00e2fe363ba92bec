"""`dedup -h`, and the Tab key: what the code of `dedup completion` has a shell offer."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules
from unittest.mock import Mock

import pytest

import dedup.cli
from tests.commands import run_dedup
from tests.waiting import HANG

_BASH = """
eval "$(dedup completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
read -ra COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete dedup
printf '%s\\n' "${COMPREPLY[@]}"
"""
_FISH = 'dedup completion fish | source; complete --do-complete "$argv"'


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A path of folders with `dedup`, by this interpreter."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "dedup"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dedup "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def ask(shell: str, code: str, line: str, path: str) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}: apt-get install {shell}")
    arguments = [line] if shell == "fish" else [shell, line]
    done = subprocess.run(
        [program, "-c", code, *arguments],
        env={"PATH": path, "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    return [offered.split("\t")[0].strip() for offered in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "code"), [("bash", _BASH), ("fish", _FISH)])
def test_commands_options_and_commands_of_commands_are_offered(shell: str, code: str, path: str) -> None:
    assert {"evaluate", "files", "index"} <= set(ask(shell, code, "dedup ", path))
    assert ask(shell, code, "dedup ev", path) == ["evaluate"]
    assert ask(shell, code, "dedup files --ag", path) == ["--against"]
    assert ask(shell, code, "dedup index qu", path) == ["query"]


@pytest.mark.slow
def test_zsh_takes_the_code() -> None:
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("there is no zsh: apt-get install zsh")
    code = run_dedup("completion", "zsh", folder=Path()).stdout
    line = f"autoload -Uz compinit && compinit -D\n{code}\nprint -r -- $_comps[dedup]"
    done = subprocess.run([zsh, "-fc", line], capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.stdout.strip(), done.stderr) == ("_python_argcomplete", "")


def test_another_shell_is_refused(tmp_path: Path) -> None:
    finished = run_dedup("completion", "cmd.exe", folder=tmp_path)
    assert finished.returncode == 2
    assert "bash" in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("files", "in.jsonl", "--text-feild", "body", "--dry-run"), "--text-feild body; did you mean --text-field?"),
        (("index", "info", "known", "--jsno"), "--jsno; did you mean --json?"),
        (("prune", "--keep", "9d", "--databse=x.db"), "--databse=x.db; did you mean --database?"),
        (("files", "in.jsonl", "--dry-run", "--zzz"), "--zzz"),
    ],
)
def test_an_unknown_option_names_the_nearest_one(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run_dedup(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: unrecognized arguments: {said}\n")


@pytest.mark.parametrize(
    ("number", "path", "said"),
    [
        (errno.ENOSPC, None, "no space is left for outputs or what is on its way; free some, and run it again"),
        (errno.ENOSPC, "a.part", "no space is left for a.part; free some, and run it again"),
        (errno.EACCES, "in", "in: Permission denied"),
    ],
)
def test_what_the_disk_refuses_is_said_in_words(
    number: int, path: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = Mock(side_effect=OSError(number, os.strerror(number), path))
    monkeypatch.setattr("dedup.cli.simhash.run", refuse)
    done = run_dedup("simhash", "a b", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"error: {said}\n")


_NO_COMMANDS = {"main", "databases", "files_on_spark", "files_options", "settings_options"}


def test_every_command_is_listed_and_what_there_is_to_learn_from_at_the_end(tmp_path: Path) -> None:
    shown = run_dedup("-h", folder=tmp_path).stdout
    listed = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and not line.startswith("  -")]
    modules = {each.name for each in iter_modules(dedup.cli.__path__)} - _NO_COMMANDS
    assert set(listed) == {name.replace("_", "-") for name in modules}
    assert listed[:3] == ["files", "explain", "duplicates"]
    assert listed[-3:] == ["evaluate", "simhash", "lookups"]
    assert shown.index("to learn from, and to measure:") < shown.index("  evaluate")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("command", ["files", "explain"])
def test_options_of_how_documents_are_decided_come_last_and_in_few_lines(command: str, tmp_path: Path) -> None:
    _, _, shown = run_dedup(command, "-h", folder=tmp_path).stdout.partition("\nhow documents are decided:\n")
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("  -")] == [
        "--threshold",
        "--mode",
        "--scheme",
        "--dictionary",
        "--set",
    ]


def test_spark_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    for given, way_out in (
        (("--format", "jsonl"), "--format jsonl: Spark writes parquet"),
        (("--processes", "2"), "--conf spark.master=local[N]"),
        (("--dry-run",), "--dry-run: Spark keeps"),
        (("-o", "-"), "-: Spark reads and writes files"),
        (("-o", "out", "--pairs", "-"), "-: Spark reads and writes files"),
    ):
        done = run_dedup("files", "in.jsonl", "--on", "spark", *given, folder=tmp_path)
        assert done.returncode == 2
        assert way_out in done.stderr.splitlines()[-1]
    done = run_dedup("files", "in.jsonl", "-o", "out", "--conf", "a=b", folder=tmp_path)
    assert done.stderr == "error: --conf goes with --on spark\n"
