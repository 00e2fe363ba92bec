"""Debian packages, fetched by apt-get into a cache and unpacked, never installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dedup.errors import InputError


def unpacked(package: str, cache: Path) -> Path:
    """Return the folder of an unpacked package, fetched where the cache has it not.

    Args:
        package: its name; the version is what the release of this machine has.
        cache: the folder that packages are kept in.

    Raises:
        InputError: there is no apt-get or dpkg-deb, or the package cannot be fetched.
    """
    folder = cache / "debian" / package
    if folder.is_dir():
        return folder
    for tool in ("apt-get", "dpkg-deb"):
        if not shutil.which(tool):
            raise InputError(
                f"{package}: this machine has no {tool}; Debian packages are read on Debian and its kin only"
            )
    archives = cache / "archives" / package
    archives.mkdir(parents=True, exist_ok=True)
    # Where apt-get is run by root it fetches as another user, who may not write here.
    _run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package], archives, package)
    archive = max(archives.glob("*.deb"))
    half_done = folder.with_suffix(".part")
    shutil.rmtree(half_done, ignore_errors=True)
    half_done.mkdir(parents=True)
    _run(["dpkg-deb", "-x", str(archive.resolve()), str(half_done.resolve())], archives, package)
    half_done.rename(folder)
    return folder


def version_of(package: str, cache: Path) -> str:
    """Return the version that was fetched, as it stands in the name of the archive; "" if there is none."""
    names = sorted(each.name for each in (cache / "archives" / package).glob("*.deb"))
    return names[-1].split("_")[1].replace("%3a", ":") if names else ""


def _run(command: list[str], folder: Path, package: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{package}: {command[0]} failed ({said}); try apt-get update first")
