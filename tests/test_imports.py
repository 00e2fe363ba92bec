"""Imports run downwards only: no circle of files or packages, and the order of the table in docs/architecture.md.

Names of tests are short.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def modules(package: str) -> dict[str, Path]:
    """The modules of a package by their names."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules among the known ones that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in known or node.module in known:
                    yield name if name in known else node.module


@pytest.mark.parametrize("package", ["crawler", "dedup", "benchmarks"])
def test_there_is_no_circle_of_files(package: str) -> None:
    known = modules(package)
    graph = {module: set(imports(path, known)) for module, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def package_of(module: str, known: dict[str, Path]) -> str:
    """The folder that a module lies in; the module itself where that is the package's own."""
    names = module.split(".")
    is_package = known[module].name == "__init__.py"
    return module if is_package or len(names) == 2 else ".".join(names[:-1])


@pytest.mark.parametrize("package", ["crawler", "dedup"])
def test_there_is_no_circle_of_packages(package: str) -> None:
    known = modules(package)
    packages: dict[str, set[str]] = {}
    for module, path in known.items():
        folder = package_of(module, known)
        used = {package_of(each, known) for each in imports(path, known)}
        packages.setdefault(folder, set()).update(used - {folder})
    try:
        TopologicalSorter(packages).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def order_of_the_docs() -> dict[str, int]:
    """The rows of the table of packages in docs/architecture.md, by what they name."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| package |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return {name: row for row, cell in enumerate(first_cells) for name in re.findall("`(.+?)`", cell)}


def test_imports_go_down_the_table_of_the_docs() -> None:
    order = order_of_the_docs()
    known = modules("dedup")
    # Public names: what they import lazily is at the top.
    del known["dedup"], known["dedup.__main__"]
    rows: dict[str, int] = {}
    for module, path in known.items():
        place = path.relative_to(ROOT / "dedup").as_posix()
        named = [name for name in order if place == name or (name.endswith("/") and place.startswith(name))]
        assert named or path.name == "__init__.py", f"{place} is in no row of docs/architecture.md"
        if named:
            rows[module] = order[max(named, key=len)]
    upwards = [
        f"{module} imports {used}"
        for module in rows
        for used in imports(known[module], known)
        if rows.get(used, len(order)) < rows[module]
    ]
    assert not upwards


def test_the_library_knows_nothing_of_the_application() -> None:
    known = {**modules("crawler"), **modules("settings"), **modules("benchmarks")}
    assert [path for path in modules("dedup").values() if any(imports(path, known))] == []


def test_the_crawler_uses_what_the_docs_name() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = page.partition("The crawler uses ")[2].partition("of `dedup`, and nothing else")[0]
    allowed = tuple(name.strip("`/").removesuffix(".py").replace("/", ".") for name in re.findall("`.+?`", named))
    library = modules("dedup")
    used = {each for path in modules("crawler").values() for each in imports(path, library)} - {"dedup"}
    assert {each for each in used if not f"{each}.".startswith(tuple(f"dedup.{name}." for name in allowed))} == set()


def test_names_of_tests_have_at_most_80_characters() -> None:
    found = (re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8")) for path in modules("tests").values())
    assert [name for names in found for name in names if len(name) > 80] == []
