"""Imports between rooms run downwards only: no circle of packages."""

from __future__ import annotations

import ast
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


def room_of(module: str, known: dict[str, Path]) -> str:
    """The folder that a module lies in; the module itself where that is the package's own."""
    names = module.split(".")
    is_package = known[module].name == "__init__.py"
    return module if is_package or len(names) == 2 else ".".join(names[:-1])


def graph(package: str) -> dict[str, set[str]]:
    """Which rooms of a package each of its rooms imports."""
    known = modules(package)
    rooms: dict[str, set[str]] = {}
    for module, path in known.items():
        room = room_of(module, known)
        used = {room_of(each, known) for each in imports(path, known)}
        rooms.setdefault(room, set()).update(used - {room})
    return rooms


@pytest.mark.parametrize("package", ["crawler", "dedup"])
def test_there_is_no_circle_of_rooms(package: str) -> None:
    try:
        TopologicalSorter(graph(package)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_library_knows_nothing_of_the_application() -> None:
    known = {**modules("crawler"), **modules("settings"), **modules("benchmarks")}
    assert [path for path in modules("dedup").values() if any(imports(path, known))] == []
