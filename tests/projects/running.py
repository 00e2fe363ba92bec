"""Runs a project as its owner does, in a folder of its own, with the stage and without it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.crawling import Crawl, finish, run, start
from tests.localsite import LocalSite, Page

THE_LINE = 'ADDONS = {"dedup.DedupAddon": 500}\n'
_OFF = "DEDUP_ENABLED = False\n"
# Its port may be another process's, which is no accident of the stage.
_NO_CONSOLE = "TELNETCONSOLE_ENABLED = False\n"
_OWN_LOG = re.compile(r"^\S+ \S+ \[dedup[^\]]*\] ([A-Z]+): (.*)$", re.MULTILINE)


class Stored(NamedTuple):
    """What a project has stored of an item.

    Attributes:
        name: what tells it from others.
        key: the key by which the report knows it, as far as `Project.key` leaves it; empty: it has none there.
    """

    name: str
    key: str


@dataclass(frozen=True)
class Project:
    """A project, the site that it crawls, and what is to be stored of that.

    Attributes:
        folder: where it is.
        site: the site's pages by path.
        command: what its owner types behind `python`; {url} stands for the address of the site.
        stored: reads what the project has stored in a folder.
        copies: the names of items of which one is to be stored.
        key: the part of a key of the report that can be told from what is stored.
        settings: the file with its settings.
        place: what the log says of the pipelines before and after the stage.
        found: what the log says of text and key, a line for each kind of items.
        more: lines of the settings that it needs beside the one.
        named: parts of the lines by which the log asks for these.
        warnings: parts of those warnings that stay.
    """

    folder: Path
    site: Mapping[str, Page]
    command: Sequence[str]
    stored: Callable[[Path], list[Stored]]
    copies: Sequence[tuple[str, ...]]
    key: Callable[[str], str]
    settings: str
    place: str
    found: frozenset[str]
    more: str = ""
    named: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True)
class Trial:
    """What came of a crawl.

    Attributes:
        folder: where it ran.
        crawl: its status, log and stats.
        stored: what is stored.
        report: that of `dedup duplicates`; empty where the stage was off.
    """

    folder: Path
    crawl: Crawl
    stored: list[Stored]
    report: dict[str, Any]

    @property
    def names(self) -> Counter[str]:
        return Counter(each.name for each in self.stored)

    @property
    def keys(self) -> Counter[str]:
        return Counter(each.key for each in self.stored if each.key)

    def told(self, *levels: str) -> list[str]:
        """Return what the stage has said in the log."""
        return [message for level, message in _OWN_LOG.findall(self.crawl.stderr) if level in levels]


class Trials(NamedTuple):
    """The same project three times.

    Attributes:
        project: the project.
        off: the stage was off.
        alone: with the one line alone.
        on: with all lines that are needed.
    """

    project: Project
    off: Trial
    alone: Trial
    on: Trial


def try_out(project: Project, folder: Path) -> Trials:
    """Run a project with the stage off and on, all at once, below a folder."""
    lines = {"off": THE_LINE + _OFF, "alone": THE_LINE, "on": THE_LINE + project.more}
    lines = {name: line + _NO_CONSOLE for name, line in lines.items()}
    if not project.more:
        del lines["alone"]
    with LocalSite(project.site) as site:
        begun = {name: _start(project, folder / name, added, site.url + "/") for name, added in lines.items()}
        try:
            crawls = {name: finish(process) for name, process in begun.items()}
        finally:
            for process in begun.values():
                with process:
                    process.kill()
    trials = {name: _look(project, folder / name, crawl, name != "off") for name, crawl in crawls.items()}
    return Trials(project, trials["off"], trials.get("alone", trials["on"]), trials["on"])


def _start(project: Project, folder: Path, added: str, url: str) -> subprocess.Popen[str]:
    shutil.copytree(project.folder, folder, ignore=shutil.ignore_patterns("__pycache__", ".scrapy", "*.db", "*.jsonl"))
    settings = folder / project.settings
    # The examples have theirs already.
    bare = "".join(
        line
        for line in settings.read_text(encoding="utf-8").splitlines(keepends=True)
        if not line.startswith(("ADDONS", "DEDUP_"))
    )
    settings.write_text(bare + added, encoding="utf-8")
    return start([sys.executable, *(part.format(url=url) for part in project.command)], folder=folder)


def _look(project: Project, folder: Path, crawl: Crawl, is_on: bool) -> Trial:
    assert crawl.status == 0, crawl.stderr[-3000:]
    report: dict[str, Any] = {}
    if is_on:
        asked = run([sys.executable, "-m", "dedup", "duplicates", "--format", "json"], folder=folder)
        assert asked.status == 0, asked.stderr
        report = json.loads(asked.stdout)
    return Trial(folder, crawl, project.stored(folder), report)
