"""docs/settings.md has every setting, with its default."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from dedup.rules.settings import DedupSettings
from dedup.stage.item_settings import FieldRule, ItemSettings
from tests.docs.pages import DECISIONS, EXAMPLES, PAGES, ROOT, code_of, read
from tests.docs.settings_table import OTHERS, PAGE, TYPED, crawler_settings, known_settings, list_of, section_of

SETTING = re.compile(r"\b(?:DEDUP|CRAWLER)_[A-Z_]*[A-Z]\b")
ASSIGNED = re.compile(r"(DEDUP_[A-Z_]+) = (.*)")
RENEW = "python -m tests.docs.settings_table writes it anew"


@pytest.mark.parametrize("settings", TYPED, ids=lambda settings: settings.__name__)
def test_list_is_that_of_the_typed_settings(settings: type[Any]) -> None:
    assert section_of(read(PAGE), settings) == list_of(settings), RENEW


@pytest.mark.parametrize(("name", "default"), crawler_settings(), ids=str)
def test_setting_of_the_crawler_is_listed_with_its_default(name: str, default: object) -> None:
    row = re.search(rf"^- `{name}`(?: \(([^:]*)\))?: \w", read(PAGE), re.MULTILINE)
    assert row is not None
    assert default is None or row[1] == str(default)


def test_what_is_read_from_elsewhere_is_listed() -> None:
    assert [name for name in OTHERS if f"- `{name}` (" not in read(PAGE)] == []


def test_every_setting_that_the_code_names_is_listed() -> None:
    sources = [path for folder in ("crawler", "settings") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in sources for name in SETTING.findall(path.read_text(encoding="utf-8"))}
    assert named
    assert named <= known_settings()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_no_setting_that_does_not_exist(page: Path) -> None:
    if page == DECISIONS:
        pytest.skip("it names what there was")
    assert set(SETTING.findall(read(page))) <= known_settings()


def assignments() -> list[tuple[str, str]]:
    found = [ASSIGNED.fullmatch(code) for page in PAGES + EXAMPLES for code in code_of(page)]
    return sorted({(match[1], match[2]) for match in found if match is not None})


@pytest.mark.parametrize(("name", "value"), assignments())
def test_setting_in_running_text_can_be_set(name: str, value: str) -> None:
    try:
        given = {name: ast.literal_eval(value)}
    except ValueError:
        assert value.isidentifier()
        given = {name: len}
    DedupSettings.read(given.get)
    ItemSettings.read(given.get)


def test_all_names_of_fields_are_listed_in_full() -> None:
    page = read(ROOT / "docs" / "your-project.md")
    defaults = ItemSettings()
    for rule in vars(defaults).values():
        if isinstance(rule, FieldRule):
            assert [name for name in str(rule).split(", ") if f"`{name}`" not in page] == []
