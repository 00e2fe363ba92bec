"""The documentation as the tests read it: pages, fenced blocks, commands in running text, links.

What a fenced block is, its first line says:

| fence | what the tests do with it |
|---|---|
| `sh` | each command is checked against the real parsers |
| `sh run` | the same, and each is run, in a folder of examples |
| `console files`, `console demo` | each command after `$` is run in such a folder; what is shown is in its output |
| `python` | is executed |
| `python settings` | is executed, and read as the settings of a project |
| `output` | is what the Python block before it prints |
| `dockerfile` | the commands after RUN are checked as in `sh` |
| `text` | is shown, no more |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
DECISIONS = ROOT / "docs" / "decisions.md"
"""It is looked up, not read, and names what there was."""
EXAMPLES = tuple(sorted((ROOT / "examples").glob("*/README.md")))
LANGUAGES = ("sh", "console", "python", "output", "dockerfile", "text")

_FENCE = re.compile(r"^```(.*)\n((?:(?!```).*\n)*)```$", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: the path of its page.
        line: its number in the page.
        language: the first word after the fence.
        mark: the words after it.
        text: what it holds.
    """

    page: str
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_of(page: Path) -> list[Block]:
    text = read(page)
    found = []
    for match in _FENCE.finditer(text):
        language, _, mark = match[1].strip().partition(" ")
        found.append(
            Block(str(page.relative_to(ROOT)), text[: match.start()].count("\n") + 1, language, mark, match[2])
        )
    return found


def all_blocks(*languages: str) -> list[Block]:
    return [block for page in PAGES + EXAMPLES for block in blocks_of(page) if block.language in languages]


def prose_of(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def code_of(page: Path) -> list[str]:
    """Return what stands between backticks in the running text and the tables of a page."""
    # A line may end within it.
    return _CODE.findall(re.sub(r"\n *(?=[^\s|])", " ", prose_of(page)))
