"""The pages themselves: short enough, without dead links, and with fences that say what they are."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from crawler.arguments import NAMES
from tests.docs.pages import DECISIONS, EXAMPLES, LANGUAGES, PAGES, ROOT, blocks_of, code_of, prose_of, read

# The words of a page, of those of docs/ together that users read, of what is only looked up.
MOST_WORDS, MOST_WORDS_TOGETHER, MOST_WORDS_OF_ARCHIVE = 1_500, 11_800, 2_500
_OF_ENGINEERS = ("architecture.md", "decisions.md")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

each_page = pytest.mark.parametrize("page", PAGES + EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors_of(page: Path) -> set[str]:
    headings = (re.sub(r"[`*]", "", heading).lower() for heading in _HEADING.findall(prose_of(page)))
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in headings}


def test_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= 130


@each_page
def test_page_is_short(page: Path) -> None:
    assert len(read(page).split()) <= (MOST_WORDS_OF_ARCHIVE if page == DECISIONS else MOST_WORDS)


def test_pages_are_short_together() -> None:
    pages = [page for page in PAGES if page.parent == ROOT / "docs" and page.name not in _OF_ENGINEERS]
    assert len(pages) <= 12
    assert sum(len(read(page).split()) for page in pages) <= MOST_WORDS_TOGETHER


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose_of(page)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


@each_page
def test_fences_say_what_they_are(page: Path) -> None:
    assert read(page).count("\n```") == 2 * len(blocks_of(page))
    assert {block.language for block in blocks_of(page)} <= set(LANGUAGES)


def test_every_page_is_named_in_the_readme() -> None:
    readme = read(ROOT / "README.md")
    named = [page.relative_to(ROOT).as_posix() for page in PAGES if page.name != "README.md"]
    assert [name for name in named if f"]({name})" not in readme] == []


def test_each_decision_has_a_date() -> None:
    records = read(DECISIONS).split("\n### ")[1:]
    assert records
    assert [record.splitlines()[0] for record in records if not re.match(r".*\n\d{4}-\d\d-\d\d\. ", record)] == []


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"], ids=lambda page: page.name
)
def test_files_that_are_named_exist(page: Path) -> None:
    named = [code for code in code_of(page) if re.fullmatch(r"(crawler|dedup|settings|tests|docs)/[\w/.]*", code)]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_dependency_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needed for name, needed in project["optional-dependencies"].items() if name != "bench"}
    needed = {re.split(r"[\[><=]", each)[0] for each in chain(project["dependencies"], *extras.values())}
    page = read(ROOT / "docs" / "operating.md")
    rows = " ".join(row.split("|")[1] for row in page[page.index("## Dependencies") :].splitlines() if "|" in row)
    assert {name for name in needed - {project["name"]} if name not in rows} == set()


@pytest.mark.parametrize("argument", NAMES)
def test_every_argument_of_the_spider_is_listed(argument: str) -> None:
    assert re.search(rf"^\|[^|]*`{argument}`[^|]*\|", read(ROOT / "docs" / "start.md"), re.MULTILINE)
