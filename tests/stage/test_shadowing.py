"""A project with a module `dedup` of its own, in an environment that has the package: neither fails without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import run_in_process
from tests.crawling import environment
from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow

SCRAPY = "import sys; sys.path[0] = sys.prefix; from scrapy.cmdline import execute; execute(['scrapy', *sys.argv[1:]])"
USED = 'ADDONS = {"dedup.DedupAddon": 500}\n'


def run_scrapy(folder: Path, *arguments: str, settings: str = "", is_module: bool = False) -> tuple[int, str, str]:
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop_settings\n")
    (folder / "shop_settings.py").write_text(f'SPIDER_MODULES = ["shop"]\n{settings}')
    (folder / "shop.py").write_text("import dedup, scrapy\nclass Shop(scrapy.Spider):\n    name = dedup.NAME\n")
    # The program `scrapy` has the project behind what is installed, `python -m scrapy` before it.
    start = ["-m", "scrapy"] if is_module else ["-c", SCRAPY]
    given = environment() | {"PYTHONPATH": str(ROOT)}
    done = run_in_process(*start, *arguments, cwd=folder, env=given)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("is_module", [False, True])
@pytest.mark.parametrize("name", ["dedup.py", "dedup/__init__.py"])
def test_a_project_with_its_own_dedup_runs_as_without_the_package(name: str, is_module: bool, tmp_path: Path) -> None:
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_text('NAME = "shop"\n')
    status, printed, errors = run_scrapy(tmp_path, "list", is_module=is_module)
    assert (status, printed) == (0, "shop\n")
    assert errors == f"warning: {own} hides the package dedup of scrapy-neardup: rename it to use that\n"
    assert run_scrapy(tmp_path, "dedup-check", is_module=is_module)[0] == 2


def test_a_project_that_uses_the_package_is_warned_of_its_own_dedup(tmp_path: Path) -> None:
    (tmp_path / "dedup.py").write_text('NAME = "shop"\n')
    _, printed, errors = run_scrapy(tmp_path, "version", settings=USED)
    assert printed.startswith("Scrapy")
    assert errors == f"warning: the package dedup of scrapy-neardup hides {tmp_path / 'dedup.py'}: rename that\n"


def test_a_folder_of_data_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "dedup").mkdir()
    assert run_scrapy(tmp_path, "version")[2] == ""
