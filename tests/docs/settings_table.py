"""The lists of docs/settings.md: made of the typed settings, and compared with them.

`python -m tests.docs.settings_table` writes them anew.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from dedup.rules.settings import DedupSettings, RuleSettings
from dedup.stage.item_settings import FieldRule, ItemSettings
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "settings.md"
TYPED: tuple[type[Any], ...] = (RuleSettings, DedupSettings, ItemSettings)
# Read from the environment, or by the add-on alone.
OTHERS = ("DEDUP_AFTER", "CRAWLER_CONTACT")
_FEW_NAMES = 3
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def rows_of(settings: type[Any]) -> Iterator[str]:
    """Yield the lines of a class of settings, without inherited ones, from its fields, defaults and docstring."""
    meanings = _meanings(settings)
    defaults = settings()
    inherited = {field.name for base in settings.__bases__ if base in TYPED for field in dataclasses.fields(base)}
    for field in dataclasses.fields(settings):
        if field.name in inherited:
            continue
        default = _shown(getattr(defaults, field.name))
        yield f"- `DEDUP_{field.name.upper()}`{f' ({default})' if default else ''}: {meanings[field.name]}"


def list_of(settings: type[Any]) -> str:
    return "\n".join(rows_of(settings))


def section_of(page: str, settings: type[Any]) -> str:
    """Return what a page has between the two comments that name a class of settings."""
    match = _section(settings).search(page)
    assert match is not None, f"docs/settings.md has no section for {settings.__name__}"
    return match[1].strip()


def renewed(page: str) -> str:
    """Return a page with all lists made anew."""
    for settings in TYPED:
        before, _, after = _section(settings).split(page)
        page = f"<!-- {settings.__name__} -->\n\n{list_of(settings)}\n\n<!-- end of {settings.__name__} -->".join(
            (before, after)
        )
    return page


@cache
def known_settings() -> frozenset[str]:
    """Return the full names of all settings that there are."""
    typed = {f"DEDUP_{field.name.upper()}" for settings in TYPED for field in dataclasses.fields(settings)}
    return frozenset(typed | set(OTHERS) | {name for name, _ in crawler_settings()})


@cache
def crawler_settings() -> tuple[tuple[str, object], ...]:
    """Return each `CRAWLER_` setting that the crawler reads, with its default; None: it has none of its own.

    The default is that of the call which reads it, or the one in the project's settings.
    """
    found: dict[str, object] = {}
    for path in sorted((ROOT / "crawler").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("get"):
                name, default = _read_call(node, path)
                if name.startswith("CRAWLER_"):
                    found[name] = found.get(name) if default is None else default
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "read_setting":
                name, default = ast.literal_eval(node.args[1]), node.args[2]
                depends_on_machine = isinstance(default, ast.BoolOp)
                found[name] = None if depends_on_machine else _value_of(default, path)
    project = vars(import_module("settings.default"))
    return tuple((name, project.get(name, default)) for name, default in found.items())


def _read_call(call: ast.Call, path: Path) -> tuple[str, object]:
    if not call.args or not isinstance(call.args[0], ast.Constant) or not isinstance(call.args[0].value, str):
        return "", None
    name = call.args[0].value
    if not name.startswith("CRAWLER_"):
        return name, None
    if len(call.args) == 1:
        is_flag = isinstance(call.func, ast.Attribute) and call.func.attr == "getbool"
        return name, False if is_flag else None
    return name, _value_of(call.args[1], path)


def _value_of(expression: ast.expr, path: Path) -> Any:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return eval(compile(ast.Expression(expression), str(path), "eval"), dict(vars(module)))


def _section(settings: type[Any]) -> re.Pattern[str]:
    name = settings.__name__
    return re.compile(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", re.DOTALL)


def _meanings(settings: type[Any]) -> dict[str, str]:
    _, _, attributes = (inspect.getdoc(settings) or "").partition("\nAttributes:\n")
    return {match[1]: " ".join(match[2].split()) for match in _ATTRIBUTE.finditer(attributes)}


def _shown(default: object) -> str:
    if isinstance(default, FieldRule) and len(names := str(default).split(", ")) > _FEW_NAMES:
        return ", ".join([*names[:_FEW_NAMES], "..."])
    return str(default)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
