"""Compiled code: kept for other processes, compiled anew once anything of it changes, and not needed by few texts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dedup
from dedup.compiled import sources_digest
from tests.waiting import HANG

pytestmark = pytest.mark.slow

PACKAGE = Path(dedup.__file__).parent

# Calls a function that uses a constant of another module, and prints how often it was compiled.
CALLED = """
import numpy as np
from dedup.rules.shared_shingles import shared_tokens
from dedup.rules import shared_shingles
print(list(shared_tokens(b"a\\nb\\nc\\nd", b"a\\nb\\nc\\nx")))
print(sum(each.stats.cache_misses.total() for each in vars(shared_shingles).values() if hasattr(each, "stats")))
"""
FEW = """
import sys
from dedup import deduplicate
print([decision.verdict.value for decision in deduplicate(["a story " * 9, "a story " * 9, "another"])])
print("numba" in sys.modules)
"""


def run(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=HANG,
        check=False,
        cwd=cwd,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that may be changed."""
    shutil.copytree(PACKAGE, tmp_path / "dedup", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.thorough
def test_a_changed_constant_of_another_module_compiles_anew(package: Path, tmp_path: Path) -> None:
    def call() -> tuple[str, int]:
        done = run("-c", CALLED, cwd=package, PYTHONPATH=str(package), NUMBA_CACHE_DIR=str(tmp_path / "kept"))
        found, misses = done.stdout.splitlines()
        return found, int(misses)

    first, compiled = call()
    assert (first, compiled > 0) == ("[1, 1, 1, 0]", True)
    assert call() == (first, 0)
    source = package / "dedup" / "signature" / "signature.py"
    text = source.read_text(encoding="utf-8")
    assert "\nSHINGLE_WORDS = 3\n" in text
    source.write_text(text.replace("\nSHINGLE_WORDS = 3\n", "\nSHINGLE_WORDS = 4\n"), encoding="utf-8")
    changed, compiled = call()
    assert (changed, compiled > 0) == ("[0, 0, 0, 0]", True)


@pytest.mark.parametrize(
    ("changed", "is_noticed"), [("compiled.py", True), ("signature/tokens.py", True), ("report/table.py", False)]
)
def test_what_compiled_code_is_made_of_is_noticed(package: Path, changed: str, is_noticed: bool) -> None:
    before = sources_digest(package / "dedup")
    sources_digest.cache_clear()
    with (package / "dedup" / changed).open("a", encoding="utf-8") as module:
        module.write("\n# changed\n")
    assert (sources_digest(package / "dedup") != before) is is_noticed
    sources_digest.cache_clear()


def test_warm_up_says_what_it_does_where_there_is_something_to_do(tmp_path: Path) -> None:
    run("-m", "dedup", "warm-up", cwd=tmp_path)
    again = run("-m", "dedup", "warm-up", cwd=tmp_path)
    assert (again.stdout, again.stderr) == ("", "")


def test_few_texts_are_decided_without_the_compiler(tmp_path: Path) -> None:
    done = run("-c", FEW, cwd=tmp_path)
    assert done.stdout.splitlines() == ["['new', 'exact duplicate', 'new']", "False"]
