"""The Tab key: what the code of `dedup completion` has a shell offer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run_dedup
from tests.waiting import HANG

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize(("shell", "code"), [("bash", _BASH), ("fish", _FISH)])
def test_commands_options_and_commands_of_commands_are_offered(shell: str, code: str, path: str) -> None:
    assert {"evaluate", "files", "index", "warm-up"} <= set(ask(shell, code, "dedup ", path))
    assert ask(shell, code, "dedup ev", path) == ["evaluate"]
    assert ask(shell, code, "dedup files --ag", path) == ["--against"]
    assert ask(shell, code, "dedup index ver", path) == ["verify"]


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
