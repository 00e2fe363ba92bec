"""The cache of machine code between processes: its folder, and what is in it. The compiler is not loaded here."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

FOLDER_VARIABLE = "DEDUP_CACHE_DIR"
"""The environment variable that names the folder; what numba calls `NUMBA_CACHE_DIR` is asked next."""

PACKAGE = Path(__file__).parent
# Of any module, also where the names stand on lines of their own.
_IMPORT = re.compile(r"^ *from (dedup[\w.]*) import (\([^)]*\)|[^(\n]*)", re.MULTILINE)
_COMPILERS = ("numba", "llvmlite", "numpy")


_put_off = False

_DONE = ".done"


@cache
def kept_folder() -> Path | None:
    """Return the folder: the first that holds compiled code, else the first that can be written; None: neither.

    It is decided once in a process. `DEDUP_CACHE_DIR` stands alone if it is set.
    """
    found = list(folders())
    for folder in found:
        if any(folder.glob(f"*-{_machine()}{_DONE}")):
            return folder
    return next((folder for folder in found if _can_be_written(folder)), None)


def is_in_use() -> bool:
    """Say whether compiled code is used: the compiler is installed, its code is kept, and nobody has put it off."""
    return not _put_off and is_installed() and kept_folder() is not None


def put_off() -> None:
    """Do without compiled code until `take_up`, unless it is loaded: loading it takes a second."""
    global _put_off  # noqa: PLW0603 -- of the process, as what is loaded is
    _put_off = "dedup.compiled" not in sys.modules


def take_up() -> None:
    """Use compiled code from now on, if there is any."""
    global _put_off  # noqa: PLW0603 -- as above
    _put_off = False


@cache
def is_installed() -> bool:
    """Say whether the compiler is installed."""
    return find_spec("numba") is not None


def named_folder() -> str | None:
    """Return the folder that the user named, if any."""
    return os.environ.get(FOLDER_VARIABLE) or os.environ.get("NUMBA_CACHE_DIR")


def is_kept(part: str) -> bool:
    """Say whether all of a part was compiled for this machine, from the sources that are there now.

    Args:
        part: a name in `dedup.warming.PARTS`.
    """
    folder = kept_folder() if is_installed() else None
    return folder is not None and (folder / _mark(part)).exists()


def mark_kept(part: str) -> None:
    """Note that all of a part is compiled.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = kept_folder()
    if folder is not None:
        (folder / _mark(part)).touch()


@cache
def sources_digest(path: Path) -> str:
    """Return what changes with a module and with all of this package that it imports, however far; and with no copy.

    Args:
        path: the file of the module.
    """
    return blake2b(b"".join(map(_digest_of, sorted(_sources_behind(path)))), digest_size=8).hexdigest()


@cache
def _digest_of(path: Path) -> bytes:
    return blake2b(path.read_bytes(), digest_size=8).digest()


def _sources_behind(path: Path) -> set[Path]:
    found, waiting = set[Path](), {path}
    while waiting:
        each = waiting.pop()
        found.add(each)
        waiting |= _imported_by(each) - found
    return found


@cache
def _imported_by(path: Path) -> set[Path]:
    found = set()
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        place = PACKAGE.parent.joinpath(*module.split("."))
        found |= {place.with_suffix(".py"), place / "__init__.py"}
        found |= {place / f"{name}.py" for name in re.findall(r"\w+", names)}
    return {each for each in found if each.exists()}


def _mark(part: str) -> str:
    return f"{part}-{_machine()}{_DONE}"


@cache
def _machine() -> str:
    """Return what machine code depends on: processor, Python, compilers, sources."""
    # Sizes are read soonest; when a file was written is not what it was before it came into an image.
    sources = [f"{path.name} {path.stat().st_size}" for path in sorted(PACKAGE.glob("*/**/*.py"))]
    known = [*sources, sys.implementation.cache_tag, _processor(), *map(_release, _COMPILERS)]
    return blake2b("\n".join(known).encode(), digest_size=8).hexdigest()


def _release(package: str) -> str:
    """Return the name and version of an installed package; to ask `importlib.metadata` takes a tenth of a second."""
    found = find_spec(package)
    folder = Path(found.origin).parent.parent if found and found.origin else Path()
    return " ".join(sorted(path.name for path in folder.glob(f"{package}-*-info")))


def _processor() -> str:
    """Return its model and what it can do, as far as the system tells."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
        told = [line for line in lines if line.startswith(("model name", "flags", "CPU part", "Features"))]
        return platform.machine() + "\n".join(told)
    return platform.machine() + platform.processor()


def folders() -> Iterator[Path]:
    """Yield the folders where compiled code may be kept, the first choice first."""
    named = named_folder()
    if named:
        yield Path(named).absolute() / "dedup"
        return
    yield PACKAGE / "__pycache__" / "compiled"
    with suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dedup"


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
