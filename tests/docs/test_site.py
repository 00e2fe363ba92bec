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

pytest.importorskip("zensical", reason="Zensical is not installed: pip install -r requirements/docs.txt")
pytestmark = [pytest.mark.slow, pytest.mark.thorough]

_TOO_WIDE = """parts => [...document.querySelectorAll(parts)]
    .filter(element => element.scrollWidth > element.clientWidth + 1).map(element => element.innerText)"""
# What the site is built from.
_SOURCES = ("docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "mkdocs.yml")
# By width in pixels, what has not to be scrolled sideways.
_FITTING = {390: "html, pre > code, .md-typeset__scrollwrap", 1_280: "html"}


def copy_sources(folder: Path) -> None:
    for name in _SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "docs/build_site.py"], cwd=folder, capture_output=True, text=True, timeout=HANG, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    copy_sources(folder)
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_it_has_every_page(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    pages = {f"{path.stem.lower()}.html" for path in PAGES if path.name != "README.md"}
    examples = {f"{path.parent.relative_to(ROOT).as_posix()}/index.html" for path in EXAMPLES}
    assert pages | examples | {"index.html", "changelog.html"} <= built


@pytest.mark.skipif(find_chromium() is None, reason=f"needs Chromium: {WAY_OUT}")
def test_opened_from_a_file_it_is_searched_and_fits_phone_and_desk(site: Path) -> None:
    with open_chromium() as browser:
        for width, parts in _FITTING.items():
            page = browser.new_page(viewport={"width": width, "height": 800})
            for path in sorted(site.rglob("*.html")):
                page.goto(path.as_uri())
                assert page.evaluate(_TOO_WIDE, parts) == [], path.name
            page.goto((site / "examples" / "shop" / "index.html").as_uri())
            page.click(":is(label[for=__search], .md-search__button):visible")
            page.get_by_role("combobox").fill("MembersSpider")
            page.get_by_role("option", name="Logins, proxies").click()
            page.wait_for_url("**/start.html*")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loading = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    assert [found for path in site.rglob("*.html") for found in loading.findall(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("link", ["gone.md", "limits.md#gone", "../dedup/gone.py", "../README.md#gone"])
def test_a_dead_link_is_an_error(link: str, tmp_path: Path) -> None:
    copy_sources(tmp_path)
    with (tmp_path / "docs" / "start.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[dead]({link})\n")
    done = build(tmp_path)
    assert done.returncode != 0
    assert "start.md" in done.stderr
