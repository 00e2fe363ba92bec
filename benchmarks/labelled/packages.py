"""Packages of the registries at pinned versions: fetched into a cache and read as archives, never installed."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.labelled.debian import unpacked
from dedup.errors import InputError

PYPI, NPM, DEBIAN = "pypi", "npm", "debian"
"""Where packages come from."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a registry.

    Attributes:
        registry: PYPI, NPM or DEBIAN.
        name: what it is called there.
        version: which; "" for the one of this machine's release of Debian.
    """

    registry: str
    name: str
    version: str = ""


def read_texts(package: Package, cache: Path, pattern: str) -> dict[str, str]:
    """Return the text files of a package by their paths.

    Args:
        package: which; it is fetched where the cache has it not.
        cache: the folder that packages are kept in.
        pattern: a regular expression that the path has to match in full, without the folder round all files.

    Raises:
        InputError: it cannot be fetched, or has no such files.
    """
    members = _files(unpacked(package.name, cache)) if package.registry == DEBIAN else _members(_fetch(package, cache))
    texts = {}
    for path, data in members:
        if re.fullmatch(pattern, path):
            try:
                texts[path] = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
            except UnicodeDecodeError:
                continue
    if not texts:
        raise InputError(f"{package.name} {package.version}: no file matches {pattern}; pin another version")
    return dict(sorted(texts.items()))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(folder)), path.read_bytes()


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name.partition("/")[2], content.read()


def _fetch(package: Package, cache: Path) -> Path:
    folder = cache / package.registry / f"{package.name.replace('/', '-')}-{package.version}"
    if not list(folder.glob("*gz")):
        half_done = folder.with_name(folder.name + ".part")
        shutil.rmtree(half_done, ignore_errors=True)
        half_done.mkdir(parents=True)
        (_fetch_from_npm if package.registry == NPM else _fetch_from_pypi)(package, half_done)
        half_done.rename(folder)
    archives = sorted(folder.glob("*gz"))
    if not archives:
        raise InputError(f"{package.name} {package.version}: no archive that tar can read; pin another version")
    return archives[0]


def _fetch_from_pypi(package: Package, folder: Path) -> None:
    # pip runs code of a source package to find out what it needs, unearth only fetches it.
    _run("unearth", [f"{package.name}=={package.version}", "--no-binary", "--download", str(folder)], package, folder)


def _fetch_from_npm(package: Package, folder: Path) -> None:
    _run("npm", ["pack", "--ignore-scripts", f"{package.name}@{package.version}"], package, folder)


def _run(tool: str, arguments: list[str], package: Package, folder: Path) -> None:
    path = shutil.which(tool, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if path is None:
        way_out = "pip install unearth" if tool == "unearth" else "install Node.js"
        raise InputError(f"{package.name}: {tool} is not on this machine: {way_out}")
    done = subprocess.run([path, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{package.name} {package.version}: {tool} failed ({said})")
