"""Builds with setuptools; where there is no C compiler with that of zig, which is a package of PyPI.

`python build_backend.py` prints what has to be installed before a build that installs nothing by itself.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 -- all other hooks are those of setuptools

ZIG = "ziglang==0.17.1"


def missing() -> list[str]:
    """Return what has to be installed to compile here."""
    if os.environ.get("CC") or any(map(shutil.which, ("cc", "gcc", "clang", _compiler()))):
        return []
    return [ZIG]


def _compiler() -> str:
    return (shlex.split(sysconfig.get_config_var("CC") or "") or ["cc"])[0]


def _use_zig() -> None:
    if missing() and find_spec("ziglang") is not None:
        zig = f"{shlex.quote(sys.executable)} -m ziglang cc"
        os.environ.update(CC=zig, LDSHARED=f"{zig} -shared")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what a build takes besides setuptools: PEP 517."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *missing()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what an editable build takes besides setuptools: PEP 660."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *missing()]


def build_wheel(*arguments: Any, **named: Any) -> str:
    """Build a wheel: PEP 517."""
    _use_zig()
    return str(build_meta.build_wheel(*arguments, **named))


def build_editable(*arguments: Any, **named: Any) -> str:
    """Build an editable wheel: PEP 660."""
    _use_zig()
    return str(build_meta.build_editable(*arguments, **named))


if __name__ == "__main__":
    print(*missing())
