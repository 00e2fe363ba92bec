"""What the README says must be complete: every setting, every argument, every option."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import dedup
from crawler.spiders.arguments import KNOWN
from dedup.settings import DedupSettings
from dedup.stage.items.settings import ItemSettings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
YOUR_PROJECT = (ROOT / "docs" / "your-project.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("field", dataclasses.fields(DedupSettings), ids=lambda field: field.name)
def test_every_setting_is_in_the_readme_with_its_default(field: dataclasses.Field[object]) -> None:
    row = re.search(rf"^\| `DEDUP_{field.name.upper()}` \|(.*?)\|", README, re.MULTILINE)
    assert row is not None
    assert row[1].strip() == str(getattr(DedupSettings(), field.name))


@pytest.mark.parametrize("field", dataclasses.fields(ItemSettings), ids=lambda field: field.name)
def test_every_setting_of_items_is_in_the_readme_with_its_default(field: dataclasses.Field[object]) -> None:
    row = re.search(rf"^\| `DEDUP_{field.name.upper()}` \|(.*?)\|", README, re.MULTILINE)
    assert row is not None
    default = str(getattr(ItemSettings(), field.name))
    if row[1].strip().endswith(", ..."):
        assert all(f"`{name}`" in YOUR_PROJECT for name in default.split(", "))
        assert set(row[1].strip().removesuffix(", ...").split(", ")) < set(default.split(", "))
    else:
        assert row[1].strip() == default


@pytest.mark.parametrize("argument", KNOWN)
def test_every_argument_of_the_spider_is_in_the_readme(argument: str) -> None:
    assert re.search(rf"^\|[^|]*`{argument}`[^|]*\|", README, re.MULTILINE)


def test_every_setting_of_the_crawl_is_in_the_readme() -> None:
    sources = [*Path("crawler").rglob("*.py"), *Path("settings").glob("*.py")]
    named = {name for path in sources for name in re.findall(r"CRAWLER_[A-Z_]+", path.read_text(encoding="utf-8"))}
    assert named
    assert {name for name in named if f"`{name}`" not in README} == set()


def test_what_the_documentation_takes_from_the_package_is_public() -> None:
    named = re.findall(r"\bdedup\.([A-Z]\w+)", README + YOUR_PROJECT)
    named += [each for line in re.findall(r"from dedup import (.+)", YOUR_PROJECT) for each in line.split(", ")]
    assert {"DedupAddon", "NearDuplicatePipeline", "document_dropped"} <= set(named) <= set(dedup.__all__)


def test_the_readme_has_no_gaps() -> None:
    assert "@@" not in README
