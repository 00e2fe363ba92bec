"""Packages of the registries at pinned versions: fetched into a cache and read as archives, never installed."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dedup.errors import InputError

PYPI, NPM, DEBIAN = "pypi", "npm", "debian"
"""Where packages come from."""

_WAYS_OUT = {
    "unearth": "pip install unearth",
    "npm": "install Node.js",
    **dict.fromkeys(("apt-get", "dpkg-deb"), "Debian packages are read on Debian and its kin only"),
}


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
    is_debian = package.registry == DEBIAN
    members = _files(_unpacked_debian(package.name, cache)) if is_debian else _members(_archive_of(package, cache))
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


def _unpacked_debian(package: str, cache: Path) -> Path:
    """Return the folder of an unpacked Debian package, in the version that the release of this machine has."""

    def fetch(folder: Path) -> None:
        archives = cache / "archives" / package
        archives.mkdir(parents=True, exist_ok=True)
        # Where apt-get is run by root it fetches as another user, who may not write here.
        command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package]
        _run_tool(command, package, archives, "; try apt-get update first")
        _run_tool(["dpkg-deb", "-x", str(max(archives.glob("*.deb")).resolve()), str(folder.resolve())], package)

    return _kept(cache / DEBIAN / package, fetch)


def _run_tool(command: list[str], what: str, folder: Path | None = None, way_out: str = "") -> None:
    """Run a tool.

    Args:
        command: its name and arguments.
        what: is fetched or read, as errors call it.
        folder: where it runs; None: here.
        way_out: what an error says at its end.

    Raises:
        InputError: this machine has it not, or it failed.
    """
    name = command[0]
    path = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if path is None:
        raise InputError(f"{what}: {name} is not on this machine: {_WAYS_OUT[name]}")
    done = subprocess.run([path, *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{what}: {name} failed ({said}){way_out}")


def _kept(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Return a folder of the cache; where it is missing it is filled, and has another name as long as that takes."""
    if not folder.is_dir():
        half_done = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(half_done, ignore_errors=True)
        half_done.mkdir(parents=True)
        fetch(half_done)
        half_done.rename(folder)
    return folder


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


def _archive_of(package: Package, cache: Path) -> Path:
    def fetch(folder: Path) -> None:
        if package.registry == NPM:
            command = ["npm", "pack", "--ignore-scripts", f"{package.name}@{package.version}"]
        else:
            # pip runs code of a source package to find out what it needs, unearth only fetches it.
            command = ["unearth", f"{package.name}=={package.version}", "--no-binary", "--download", "."]
        _run_tool(command, f"{package.name} {package.version}", folder)

    name = f"{package.name.replace('/', '-')}-{package.version}"
    archives = sorted(_kept(cache / package.registry / name, fetch).glob("*gz"))
    if not archives:
        raise InputError(f"{package.name} {package.version}: no archive that tar can read; pin another version")
    return archives[0]
