"""What the stage adds to an installation of Scrapy and to a crawl: disk, packages, start, memory, CPU an item."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.chain import many_pages
from benchmarks.site import INDEX, serve

_ROOT = Path(__file__).parent.parent
_SETS = {"scrapy": None, "stage": "scrapy", "stage, fast": "scrapy,fast"}
_MEGABYTE = 1 << 20


def run(*, pages: int = 1000, rounds: int = 3) -> dict[str, Any]:
    """Install Scrapy, Scrapy with the stage, and both with compiled code, each in an environment of its own; crawl.

    Args:
        pages: how many pages are crawled.
        rounds: how often, in turn; the least of each figure counts.

    Returns:
        The figures by installation: `megabytes` on disk, `packages`, `first`, the seconds of the first crawl after the
        installation, and of later ones `start` seconds, `cpu` seconds in all, `memory` in MB.

    Raises:
        ValueError: a number is too small, or an installation or a crawl failed.
    """
    if min(pages, rounds) < 1:
        raise ValueError("--pages and --rounds: expected at least 1")
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="light-") as folder, serve(many_pages(pages), 0) as site:
        # A copy: what is built leaves files beside the sources.
        sources = Path(folder) / "sources"
        shutil.copytree(_ROOT / "dedup", sources / "dedup", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(_ROOT / name, sources)
        for name, extras in _SETS.items():
            figures[name] = _install(Path(folder) / name.replace(", ", "-"), sources, extras)
        for number in range(rounds + 1):
            for name, found in figures.items():
                python = Path(folder) / name.replace(", ", "-") / "bin" / "python"
                _note(found, _crawl(python, f"{site}{INDEX}", is_on=name != "scrapy"), is_first=not number)
    print(f"{pages:,} pages of one crawl")
    print("              MB on disk   packages   first crawl s   start s   CPU s   memory MB")
    for name, each in figures.items():
        print(
            f"{name:12}  {each['megabytes']:>10.0f}   {each['packages']:>8.0f}   {each['first']:>13.1f}"
            f"   {each['start']:>7.2f}   {each['cpu']:>5.2f}   {each['memory']:>9.0f}"
        )
    return {"pages": pages, **figures}


def _install(folder: Path, sources: Path, extras: str | None) -> dict[str, float]:
    _call(sys.executable, "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    before = _size(folder)
    pins = str(_ROOT / "requirements" / "crawl.txt")
    what = ["scrapy"] if extras is None else [f"{sources}[{extras}]"]
    # The benchmark itself asks for its memory by this one.
    _call(*pip, "-c", pins, "psutil", *what)
    listed = json.loads(_call(python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"))
    return {"megabytes": (_size(folder) - before) / _MEGABYTE, "packages": len(listed)}


def _crawl(python: Path, url: str, *, is_on: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="light-") as folder:
        command = [str(python), "-m", "benchmarks.chain_crawl", url, "on" if is_on else "off"]
        started = time.monotonic()
        found: dict[str, float] = json.loads(_call(*command, f"sqlite:///{folder}/dedup.db"))
    return found | {"first": time.monotonic() - started}


def _note(figures: dict[str, float], crawl: dict[str, float], *, is_first: bool) -> None:
    if is_first:
        figures["first"] = crawl["first"]
        return
    for name in ("start", "cpu", "memory"):
        figures[name] = min(figures.get(name, crawl[name]), crawl[name])


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _call(*command: str) -> str:
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command[:4])} ... ended with status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout
