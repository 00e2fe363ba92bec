"""The database that commands read: named, in the variable, in the settings of a project, or usual."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedup.cli.databases import VARIABLE, database_url
from dedup.errors import SettingsError
from dedup.store.urls import option_naming

BROKEN = "broken_settings_of_a_project"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (VARIABLE, "SCRAPY_SETTINGS_MODULE", "SCRAPY_PROJECT"):
        monkeypatch.delenv(name, raising=False)


def make_project(folder: Path, module: str, content: str) -> None:
    (folder / "scrapy.cfg").write_text(f"[settings]\ndefault = {module}\n")
    (folder / f"{module}.py").write_text(content)


def test_what_is_named_comes_first_then_the_project_then_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crawl.db").touch()
    assert database_url(None) == "sqlite:///crawl.db"
    monkeypatch.setenv(VARIABLE, "postgresql://of/variable")
    assert database_url(None) == "postgresql://of/variable"
    make_project(tmp_path, "settings_with_a_database", f"{VARIABLE} = 'postgresql://of/project'")
    assert database_url("") == "postgresql://of/project"
    assert "SCRAPY_SETTINGS_MODULE" not in os.environ
    assert database_url("own.db") == "sqlite:///own.db"


def test_without_a_setting_it_is_what_the_stage_has_made(tmp_path: Path) -> None:
    assert database_url(None) == "sqlite:///crawl.db"
    make_project(tmp_path, "settings_without_a_database", "BOT_NAME = 'shop'")
    made = tmp_path / ".scrapy" / "dedup" / "shop.db"
    made.parent.mkdir(parents=True)
    made.touch()
    assert database_url(None) == "sqlite:///.scrapy/dedup/shop.db"


def test_settings_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    make_project(tmp_path, BROKEN, "import no_such_module")
    with pytest.raises(SettingsError, match=r"cannot be loaded .*no_such_module.*: name a --database"):
        database_url(None)


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("sqlite:////data/x.db", ["--database", "sqlite:////data/x.db"]),
        ("postgresql://me:secret@a/x?sslmode=require", ["--database", "postgresql://me@a/x?sslmode=require"]),
        ("postgresql:///x?user=me&password=secret", ["--database", "postgresql:///x?user=me"]),
        ("postgresql://me:@/x", ["--database", "postgresql://me@/x"]),
    ],
)
def test_option_to_be_pasted_has_no_password(url: str, option: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert option_naming(url) == option
    monkeypatch.setenv(VARIABLE, url)
    assert option_naming(url) == ([] if "me" in url else option)
