"""The site of the documentation: built as `make docs` does, where a dead link is an error."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.browser import WAY_OUT, find_chromium, open_chromium
from tests.docs.pages import EXAMPLES, PAGES, ROOT
from tests.waiting import HANG

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install -r requirements/docs.txt")
pytestmark = pytest.mark.slow

_TOO_WIDE = """() => [...document.querySelectorAll("html, pre > code, .md-typeset__scrollwrap")]
    .filter(element => element.scrollWidth > element.clientWidth + 1).map(element => element.innerText)"""
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
    built = {path.relative_to(tmp_path / "site").as_posix() for path in tmp_path.rglob("*.html")}
    pages = {f"{path.stem.lower()}.html" for path in PAGES if path.name != "README.md"}
    examples = {f"{path.parent.relative_to(ROOT).as_posix()}/index.html" for path in EXAMPLES}
    assert pages | examples | {"index.html", "changelog.html"} <= built


@pytest.mark.skipif(find_chromium() is None, reason=f"needs Chromium: {WAY_OUT}")
def test_opened_from_a_file_it_is_searched_and_fits_a_phone(tmp_path: Path) -> None:
    assert build(ROOT, tmp_path / "site").returncode == 0
    with open_chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        for path in sorted((tmp_path / "site").rglob("*.html")):
            page.goto(path.as_uri())
            assert page.evaluate(_TOO_WIDE) == [], path.name
        page.goto((tmp_path / "site" / "examples" / "shop" / "index.html").as_uri())
        page.click("label[for=__search]")
        page.locator(".md-search__input").press_sequentially("MembersSpider")
        page.click(".md-search-result__link")
        page.wait_for_url("**/start.html*")


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
