"""Manual pages, in roff with the macros of `man`, as documents."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.labelled.blocks import CODE, HEADING, PARAGRAPH, Block, Page

_SPECIAL = {"(bu": "•", "(co": "©", "(em": "—", "(en": "–", "(aq": "'", "(dq": '"', "(lq": "“", "(rq": "”", "(oq": "‘",
    "(cq": "’", "(ti": "~", "(ha": "^", "(rs": "\\", "(mu": "×", "(+-": "±", "(->": "→", "(<=": "≤", "(>=": "≥",
    "(:a": "ä",
    "(:o": "ö", "(:u": "ü", "(:A": "Ä", "(:O": "Ö", "(:U": "Ü", "(ss": "ß", "(Bq": "„", "(Fo": "«", "(Fc": "»",
    "e": "\\", "\\": "\\", "-": "-", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`"}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:f(?:\(..|\[[^\]]*\]|.)|s[-+]?\d|"
    r"\*(?:\(..|\[[^\]]*\]|.)|[hvwlL]'[^']*'|\[([^\]]*)\]|(\(..)|([-e\\ ~0'`])|[&|^:/,%)c]|.)"
)
_FONTS = frozenset(["B", "I", "R", "BI", "BR", "IB", "IR", "RB", "RI", "SM", "SB"])
_BREAKS = frozenset(["PP", "P", "LP", "HP", "TP", "TQ", "IP", "RS", "RE", "sp", "br", "UE", "UR", "ME", "MT", "Sp"])
_CODE_BEGINS, _CODE_ENDS = frozenset(["nf", "EX", "Vb"]), frozenset(["fi", "EE", "Ve"])
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_WITH_TEXT = frozenset(("IP", "UR", "TP"))


def man_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages of a folder by their names; links and pages that are only another name of one are left out."""
    for path in sorted(folder.rglob("*.gz")):
        if path.is_symlink():
            continue
        source = gzip.decompress(path.read_bytes()).decode(errors="replace")
        if not re.search(r"^\.so ", source, re.MULTILINE) and re.search(r"^\.TH ", source, re.MULTILINE):
            yield path.name.removesuffix(".gz"), _page_of(source)


def _page_of(source: str) -> Page:
    # What stands before the title are definitions.
    lines = source[re.search(r"^\.TH ", source, re.MULTILINE).start() :].splitlines()  # type: ignore[union-attr]
    title = " ".join(_arguments(lines[0][4:])[:2])
    return Page(title, tuple(_blocks(lines[1:])))


def _blocks(lines: list[str]) -> Iterator[Block]:
    gathered: list[str] = []
    is_code = is_skipped = False
    for line in [*lines, ".PP"]:
        macro, _, rest = line[1:].strip().partition(" ") if line[:1] in (".", "'") else ("", "", line)
        if is_skipped or macro in ("de", "ig", "ds", "rm"):
            is_skipped = macro in ("de", "ig") or (is_skipped and not line.startswith(".."))
            continue
        if macro in ("SH", "SS") or macro in _BREAKS | _CODE_BEGINS | _CODE_ENDS or not line.strip():
            yield from _gathered(gathered, is_code)
            gathered = []
            is_code = (is_code or macro in _CODE_BEGINS) and macro not in _CODE_ENDS
            if macro in ("SH", "SS"):
                yield Block(HEADING, (_plain(" ".join(_arguments(rest))),))
            elif macro in _WITH_TEXT and rest and not rest.strip().isdigit():
                gathered.append(_plain(_arguments(rest)[0]))
        elif macro in _FONTS:
            gathered.append(_plain(("" if len(macro) == 2 and macro != "SM" else " ").join(_arguments(rest))))
        elif not macro and not line.startswith((".", "'")):
            gathered.append(_plain(line))


def _gathered(lines: list[str], is_code: bool) -> Iterator[Block]:
    text = ("\n" if is_code else " ").join(lines).strip()
    if text:
        yield Block(CODE if is_code else PARAGRAPH, (text,))


def _arguments(rest: str) -> list[str]:
    return [(quoted or bare).replace('""', '"') for quoted, bare in _ARGUMENT.findall(rest)]


def _plain(text: str) -> str:
    def put(found: re.Match[str]) -> str:
        named, two, one = found.groups()
        return _SPECIAL.get(one or two or (f"({named}" if named else ""), "")

    return re.sub(r'\\".*', "", text) if text.startswith('\\"') else _ESCAPE.sub(put, text)
