"""The site of the documentation: built as `make docs` does, where a dead link is an error."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import EXAMPLES, PAGES, ROOT
from tests.waiting import HANG

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install -r requirements/docs.txt")
pytestmark = pytest.mark.slow

# What the site is built from.
_SOURCES = ("docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "mkdocs.yml")


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )


def test_it_is_built_without_a_warning_and_has_every_page(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    built = {path.parent.relative_to(tmp_path / "site").as_posix() for path in tmp_path.rglob("index.html")}
    pages = {path.stem.lower() for path in PAGES if path.name != "README.md"}
    examples = {path.parent.relative_to(ROOT).as_posix() for path in EXAMPLES}
    assert pages | examples | {".", "changelog"} <= built


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    assert build(ROOT, tmp_path / "site").returncode == 0
    loading = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    found = [match for path in tmp_path.rglob("*.html") for match in loading.findall(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("link", ["gone.md", "limits.md#gone", "../dedup/gone.py", "../README.md#gone"])
def test_a_dead_link_is_an_error(link: str, tmp_path: Path) -> None:
    for name in _SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs" / "start.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[dead]({link})\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "start.md" in done.stderr
