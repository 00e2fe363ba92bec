from __future__ import annotations

import re
from pathlib import Path

import pytest

import dedup
from tests.commands import run_python

pytestmark = pytest.mark.slow

BLOCK = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scrapy", "twisted", "itemadapter"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def test_documents_are_decided_without_scrapy(tmp_path: Path) -> None:
    code = f"""{BLOCK}
import dedup
from tests.texts import document, edited

texts = {{"a": document(200), "b": document(200), "c": edited(document(200), 3), "d": document(200, "other")}}
with dedup.Deduplicator(sys.argv[1]) as deduplicator:
    for decision in deduplicator.decide_all(texts.items()):
        print(decision.verdict, decision.original)
"""
    output = run_python(code, f"sqlite:///{tmp_path / 'test.db'}")
    assert output.splitlines() == ["new None", "exact duplicate a", "near duplicate a", "new None"]


def test_every_module_but_the_glue_is_imported_without_scrapy() -> None:
    code = f"""{BLOCK}
import importlib, pkgutil, dedup
# Spark has an extra of its own.
for module in pkgutil.walk_packages(dedup.__path__, "dedup."):
    if module.name.split(".")[1] not in ("stage", "pipelines", "spidermiddlewares", "spark"):
        importlib.import_module(module.name)
        print(module.name)
"""
    assert "dedup.store.deduplicator" in run_python(code).splitlines()


def test_files_are_deduplicated_without_a_database_library(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a", "text": "the same"}\n{"id": "b", "text": "the same"}\n', encoding="utf-8")
    code = """
import sys
from dedup.cli.main import main

if __name__ == "__main__":
    status = main(["files", sys.argv[1], "-o", sys.argv[2]])
    print(status, sorted({"sqlalchemy", "scrapy", "trafilatura", "jieba"} & sys.modules.keys()))
"""
    assert run_python(code, str(source), str(tmp_path / "out")).splitlines()[-1] == "0 []"
    assert len((tmp_path / "out" / "dropped.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_the_addon_says_what_is_missing() -> None:
    code = f"""{BLOCK}
import dedup
try:
    dedup.DedupAddon
except ModuleNotFoundError as error:
    print(error)
"""
    assert run_python(code) == "dedup.DedupAddon needs scrapy: pip install 'scrapy-neardup[scrapy]'\n"


SIGNED = "from dedup import make_signature; make_signature('The ferry to the island leaves at seven.')"


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        (SIGNED, ["sqlalchemy", "scrapy", "twisted", "jieba", "trafilatura", "lxml"]),
        (
            "import dedup.stage.pipelines, crawler.runtime, crawler.pages.pipeline, crawler.spider.site",
            ["jieba", "trafilatura", "pyarrow", "msgspec", "jinja2"],
        ),
        ("import dedup.cli.main, dedup.console", ["numpy", "multiprocessing", "asyncio", "rich", "argcomplete"]),
        ("import dedup.cli.duplicates", ["jinja2", "multiprocessing"]),
    ],
    ids=["a signature", "a crawling process", "any command", "duplicates"],
)
def test_nothing_is_loaded_that_is_not_needed(code: str, heavy: list[str]) -> None:
    assert run_python(f"import sys; {code}; print(sorted(set({heavy}) & sys.modules.keys()))") == "[]\n"


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, dedup; print(sorted(name for name in sys.modules if name.startswith('dedup')))"
    assert run_python(code) == "['dedup']\n"


def test_all_of_it_is_imported_without_scrapy() -> None:
    assert run_python(f"{BLOCK}\nfrom dedup import *\nprint(deduplicate.__name__, Verdict.NEW)") == "deduplicate new\n"


@pytest.mark.parametrize("name", sorted({*dir(dedup)} - {"__doc__", "__path__", "__name__"}))
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(dedup, name)
    assert getattr(found, "__name__", name) == name


def test_the_version_is_that_of_the_installed_package() -> None:
    assert re.match(r"\d+\.\d+", dedup.__version__)
    assert run_python("import sys, dedup.cli.main; dedup.cli.main.main(sys.argv[1:])", "--version") == (
        f"dedup {dedup.__version__}\n"
    )


def test_the_public_names_are_sorted_and_no_other_name_is_found() -> None:
    assert sorted(dedup.__all__) == sorted(set(dedup.__all__))
    with pytest.raises(AttributeError, match="no attribute 'Duplicator'"):
        _ = dedup.Duplicator
    assert not hasattr(dedup, "errors_of_all_kinds")
