"""Packages of Python as archives, fetched by pip into a cache, neither installed nor run."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from dedup.errors import InputError


def unpacked_wheel(package: str, version: str, cache: Path) -> Path:
    """Return the folder of an unpacked wheel, fetched where the cache has it not."""
    folder = cache / "wheels" / f"{package}-{version}"
    if folder.is_dir():
        return folder
    archives = cache / "archives" / package
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-d",
        str(archives),
    ]
    done = subprocess.run([*command, f"{package}=={version}"], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{package} {version} cannot be fetched ({said})")
    half_done = folder.with_suffix(".part")
    with zipfile.ZipFile(max(archives.glob("*.whl"))) as archive:
        archive.extractall(half_done)
    half_done.rename(folder)
    return folder
