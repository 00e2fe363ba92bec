"""The commands that Scrapy loads in every project of its environment, also in one with a module `dedup` of its own.

Scrapy runs no command where one of an entry point cannot be loaded, so these are in a module whose name no project has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from scrapy.commands import ScrapyCommand
from scrapy.utils.project import get_project_settings

_INIT = Path(__file__).resolve().with_name("dedup") / "__init__.py"


class HiddenCommand(ScrapyCommand):
    """Stands in for a command whose package cannot be imported; why is printed already."""

    requires_crawler_process = False

    def short_desc(self) -> str:
        """Return what the list of commands has."""
        return "Not available: another module dedup hides the package"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """End with the status of a usage error."""
        self.exitcode = 2


class _ProjectFirst:
    """Finds the project's module `dedup` before the package, which the folders of Python would have first."""

    def __init__(self, spec: ModuleSpec) -> None:
        self._spec = spec

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return self._spec if name == "dedup" else None


def _is_package(spec: ModuleSpec) -> bool:
    return spec.origin is not None and Path(spec.origin).resolve() == _INIT


def _find_other() -> ModuleSpec | None:
    """Return where another module `dedup` is, if there is one; a folder without `__init__.py` is none."""
    found = (PathFinder.find_spec("dedup", [folder]) for folder in sys.path)
    return next((spec for spec in found if spec and spec.origin and not _is_package(spec)), None)


def _is_used() -> bool:
    """Return whether the project uses the package, and can import it."""
    spec = find_spec("dedup")
    if spec is None or not _is_package(spec):
        return False
    settings = get_project_settings()
    return "dedup" in sys.modules or "dedup." in f"{settings.getdict('ADDONS')}{settings.getdict('ITEM_PIPELINES')}"


def _load_command(module: str) -> type[ScrapyCommand]:
    if _is_hidden:
        return HiddenCommand
    command: type[ScrapyCommand] = import_module(f"dedup.stage.commands.{module}").Command
    return command


_other = _find_other()
_is_hidden = _other is not None and not _is_used()
if _other is not None and _is_hidden:
    sys.meta_path.insert(0, _ProjectFirst(_other))
    sys.stderr.write(f"warning: {_other.origin} hides the package dedup of scrapy-neardup: rename it to use that\n")
elif _other is not None:
    sys.stderr.write(f"warning: the package dedup of scrapy-neardup hides {_other.origin}: rename that\n")
DedupCheck = _load_command("dedup_check")
