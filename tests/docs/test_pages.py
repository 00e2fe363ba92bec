"""The pages themselves: short enough, without dead links, and with fences that say what they are."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from crawler.spider.arguments import KNOWN
from tests.docs.pages import EXAMPLES, LANGUAGES, PAGES, ROOT, blocks_of, prose_of, read

TEN_MINUTES = 2_200
"""Words that are read in ten minutes."""
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

each_page = pytest.mark.parametrize("page", PAGES + EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors_of(page: Path) -> set[str]:
    headings = (re.sub(r"[`*]", "", heading).lower() for heading in _HEADING.findall(prose_of(page)))
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in headings}


def test_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= 200


@each_page
def test_page_is_read_in_ten_minutes(page: Path) -> None:
    if page.name == "decisions.md":
        pytest.skip("it is looked up, not read")
    assert len(read(page).split()) <= TEN_MINUTES


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


def test_each_decision_has_a_date_and_a_status() -> None:
    records = read(ROOT / "docs" / "decisions.md").split("\n### ")[1:]
    status = re.compile(r".*\n\d{4}-\d\d-\d\d, (accepted|superseded)\b")
    assert [record.splitlines()[0] for record in records if not status.match(record)] == []


def test_every_dependency_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needed for name, needed in project["optional-dependencies"].items() if name != "bench"}
    needed = {re.split(r"[\[><=]", each)[0] for each in chain(project["dependencies"], *extras.values())}
    page = read(ROOT / "docs" / "operating.md")
    rows = " ".join(row.split("|")[1] for row in page[page.index("## Dependencies") :].splitlines() if "|" in row)
    assert {name for name in needed - {project["name"]} if name not in rows} == set()


@pytest.mark.parametrize("argument", KNOWN)
def test_every_argument_of_the_spider_is_listed(argument: str) -> None:
    assert re.search(rf"^\|[^|]*`{argument}`[^|]*\|", read(ROOT / "docs" / "start.md"), re.MULTILINE)
