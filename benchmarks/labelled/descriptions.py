"""Descriptions of Debian's packages, in the languages that they are translated to, as documents."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.labelled.blocks import ITEM, PARAGRAPH, Block, Page
from dedup.errors import InputError

_HELPER = Path("/usr/lib/apt/apt-helper")
_STANZA = re.compile(r"^Package: (\S+)\n(?:.*\n)*?Description-(?!md5)\w+: (.*)\n((?: .*\n)*)", re.MULTILINE)
_LISTED = re.compile(r"^\s+[-*]|^  ")
_NAMES = {
    "en": r"task-|tesseract-|libboost|php8|fcitx|texlive|gir1|qml|xserver|tryton|dict-|gnome|kde|python3-django",
    "de": r"aspell|firefox|thunderbird|gnome|gcc|xserver|games|education|science|mate|xfce|php|libboost|libqt|qml|gir",
    "zh": r".",
}


def descriptions(language: str, folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield descriptions by the names of their packages, of families of packages that are much alike."""
    name = {"zh": "zh%5fCN"}.get(language, language)
    files = sorted(folder.glob(f"*_main_i18n_Translation-{name}*"))
    for path in [each for each in files if "security" not in each.name and "updates" not in each.name]:
        text = _run([str(_HELPER), "cat-file", str(path)])
        for package, synopsis, body in _STANZA.findall(text):
            if re.match(_NAMES[language], package):
                yield package, Page(f"{package}: {synopsis}", tuple(_blocks(body, language)))


def translations(cache: Path) -> Path:
    """Return the folder of the lists of descriptions, fetched where the cache has none.

    Raises:
        InputError: there is no apt-get, or they cannot be fetched.
    """
    folder = cache / "descriptions"
    if not list(folder.glob("*Translation*")):
        if not shutil.which("apt-get") or not _HELPER.exists():
            raise InputError("descriptions: this machine has no apt-get; they are read on Debian and its kin only")
        (folder / "partial").mkdir(parents=True, exist_ok=True)
        options = [f"Dir::State::lists={folder.resolve()}", "Acquire::Languages=en,de,zh_CN", "APT::Sandbox::User=root"]
        _run(["apt-get", "update", "-qq", *(word for each in options for word in ("-o", each))])
    return folder


DESCRIPTIONS = {language: partial(descriptions, language) for language in _NAMES}
"""Readers by language."""


def _blocks(body: str, language: str) -> Iterator[Block]:
    gathered: list[str] = []
    for line in [*body.splitlines(), " ."]:
        is_listed = bool(_LISTED.match(line[1:]))
        if line == " ." or is_listed:
            if gathered:
                # Chinese has no space where a line ends.
                text = ("" if language == "zh" else " ").join(gathered)
                yield Block(ITEM if text.startswith(("-", "*")) else PARAGRAPH, (text.lstrip("-* "),))
            gathered = []
        if line != " .":
            gathered.append(line.strip())


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"descriptions: {Path(command[0]).name} failed ({said})")
    return done.stdout
