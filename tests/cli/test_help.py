"""What `dedup -h` and `dedup COMMAND -h` begin and end with."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules

import pytest

import dedup.cli
from tests.commands import run_dedup

_NO_COMMANDS = {"main", "settings_options"}


def test_every_command_is_listed_and_what_is_for_research_at_the_end(tmp_path: Path) -> None:
    shown = run_dedup("-h", folder=tmp_path).stdout
    listed = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and not line.startswith("  -")]
    modules = {each.name for each in iter_modules(dedup.cli.__path__)} - _NO_COMMANDS
    assert set(listed) == {name.replace("_", "-") for name in modules}
    assert listed[:3] == ["files", "explain", "duplicates"]
    assert listed[-1] == "evaluate"
    assert shown.index("for research:") < shown.index("  evaluate")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("command", ["files", "explain"])
def test_options_of_how_documents_are_decided_come_last_and_in_few_lines(command: str, tmp_path: Path) -> None:
    _, _, shown = run_dedup(command, "-h", folder=tmp_path).stdout.partition("\nhow documents are decided:\n")
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("  -")] == [
        "--set",
        "--mode",
        "--scheme",
        "--dictionary",
    ]
