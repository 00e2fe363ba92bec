"""`python -m tests.docs.check`: what the documentation says that is not so, a line each; status 1 where there is any.

Commands are checked against the parsers that read them, settings against those that there are, links against files.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.__main__ import BENCHMARKS
from crawler.arguments import NAMES
from dedup.errors import SettingsError
from dedup.rules.settings import DedupSettings
from dedup.stage.item_settings import ItemSettings
from tests.docs import rules_table
from tests.docs.commands import WrongCommandError, check, commands_in
from tests.docs.pages import DECISIONS, EXAMPLES, LANGUAGES, PAGES, ROOT, all_blocks, blocks_of, code_of, prose_of, read
from tests.docs.settings_table import KNOWN, PAGE, PAGE_OF_NAMES, TYPED, list_of, list_of_names, lists_of, names_of

# The words of a page, of those of docs/ together that users read, of what is only looked up.
MOST_WORDS, MOST_WORDS_TOGETHER, MOST_WORDS_OF_ARCHIVE = 1_500, 10_500, 2_500
MOST_LINES_OF_README, MOST_PAGES = 130, 12
_OF_ENGINEERS = ("architecture.md", "decisions.md")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_SETTING = re.compile(r"\b(?:DEDUP|CRAWLER)_[A-Z_]*[A-Z]\b")
_ASSIGNED = re.compile(r"(DEDUP_[A-Z_]+) = (.*)")
_FOLDER_NAMED = re.compile(r"(crawler|dedup|settings|tests|docs)/[\w/.]*")
_STARTS = tuple(f"{program} " for program in ("dedup", "scrapy", "make", "pip", "python -m"))
_ALL = PAGES + EXAMPLES

Problems = Iterator[str]


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# Commands


def commands() -> Problems:
    """Say which commands cannot be given: in blocks and images, on screens, in running text, in a table."""
    for block in all_blocks("sh"):
        found = list(commands_in(block.text))
        if not found:
            yield f"{block}: a block of commands without one"
        yield from _refused(str(block), found)
    for block in all_blocks("console"):
        if not block.text.startswith("$ "):
            yield f"{block}: a screen begins with its command"
        lines = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
        yield from _refused(str(block), map(shlex.split, lines))
    for block in all_blocks("dockerfile"):
        lines = [line.removeprefix("RUN ") for line in block.text.splitlines()]
        yield from _refused(str(block), chain.from_iterable(map(commands_in, lines)))
    for page in PAGES:
        for code in code_of(page):
            if code.startswith(_STARTS):
                words = shlex.split(code)
                # Where no option is named, arguments may be left out too: the command as such has to exist.
                is_name = words[0] == "dedup" and not any(word.startswith("-") for word in words)
                yield from _refused(_named(page), [[*words, "-h"] if is_name else words])
    for code in code_of(ROOT / "CONTRIBUTING.md"):
        if code.split()[0] in BENCHMARKS:
            yield from _refused("CONTRIBUTING.md", [shlex.split(f"python -m benchmarks {code}")])


def _refused(place: str, given: Iterator[list[str]] | list[list[str]]) -> Problems:
    for words in given:
        try:
            check(words)
        except WrongCommandError as error:
            yield f"{place}: {error}"


# Pages


def lengths() -> Problems:
    """Say which pages are too long, one by one and together."""
    if len(read(ROOT / "README.md").splitlines()) > MOST_LINES_OF_README:
        yield f"README.md has more than {MOST_LINES_OF_README} lines"
    for page in _ALL:
        most = MOST_WORDS_OF_ARCHIVE if page == DECISIONS else MOST_WORDS
        if (count := len(read(page).split())) > most:
            yield f"{_named(page)} has {count:,} words, of {most:,} at most"
    pages = [page for page in PAGES if page.parent == ROOT / "docs" and page.name not in _OF_ENGINEERS]
    together = sum(len(read(page).split()) for page in pages)
    if len(pages) > MOST_PAGES or together > MOST_WORDS_TOGETHER:
        yield f"{len(pages)} pages have {together:,} words, of {MOST_PAGES} and {MOST_WORDS_TOGETHER:,} at most"


def links() -> Problems:
    """Say which links lead nowhere, which pages the README does not name, and which named files are not there."""
    for page in _ALL:
        for link in _LINK.findall(prose_of(page)):
            if link.startswith("https://"):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in _anchors_of(target)):
                yield f"{_named(page)}: {link} leads nowhere"
    readme = read(ROOT / "README.md")
    for page in PAGES:
        if page.name != "README.md" and f"]({_named(page)})" not in readme:
            yield f"README.md does not name {_named(page)}"
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        named = [code for code in code_of(page) if _FOLDER_NAMED.fullmatch(code)]
        if not named:
            yield f"{_named(page)} names no file"
        yield from (f"{_named(page)}: {name} is not there" for name in named if not (ROOT / name).exists())


def _anchors_of(page: Path) -> set[str]:
    headings = (re.sub(r"[`*]", "", heading).lower() for heading in _HEADING.findall(prose_of(page)))
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in headings}


def forms() -> Problems:
    """Say which fences do not tell what they are, and which decisions have no date."""
    for page in _ALL:
        blocks = blocks_of(page)
        if read(page).count("\n```") != 2 * len(blocks):
            yield f"{_named(page)}: a fence without its other"
        yield from (
            f"{block}: {block.language!r} is none of {', '.join(LANGUAGES)}"
            for block in blocks
            if block.language not in LANGUAGES
        )
    records = read(DECISIONS).split("\n### ")[1:]
    if not records:
        yield f"{_named(DECISIONS)} has no decision"
    for record in records:
        if not re.match(r".*\n\d{4}-\d\d-\d\d\. ", record):
            yield f"{_named(DECISIONS)}: {record.splitlines()[0]!r} has no date"


# What is listed


def lists() -> Problems:
    """Say which dependencies, arguments of the spider and names of fields are not listed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needed for name, needed in project["optional-dependencies"].items() if name != "bench"}
    needed = {re.split(r"[\[><=]", each)[0] for each in chain(project["dependencies"], *extras.values())}
    page = read(ROOT / "docs" / "architecture.md")
    rows = " ".join(row.split("|")[1] for row in page[page.index("## Dependencies") :].splitlines() if "|" in row)
    for name in sorted(needed - {project["name"]}):
        if name not in rows:
            yield f"docs/architecture.md: the dependency {name} is not listed"
    for argument in NAMES:
        if not re.search(rf"^\|[^|]*`{argument}`[^|]*\|", read(ROOT / "docs" / "start.md"), re.MULTILINE):
            yield f"docs/start.md: the argument {argument} of the spider is not listed"
    if names_of(read(PAGE_OF_NAMES)) != list_of_names():
        yield "docs/your-project.md: names of fields have changed: python -m tests.docs.settings_table rewrites them"


def rules() -> Problems:
    """Say whether the table of rules is another."""
    if rules_table.table_of(read(rules_table.PAGE)) != rules_table.table():
        yield f"{_named(rules_table.PAGE)}: the rules have changed: python -m tests.docs.rules_table rewrites them"


def settings() -> Problems:
    """Say whether the lists of settings are others, and which are named that do not exist or cannot be so."""
    if lists_of(read(PAGE)) != {kind.__name__: list_of(kind) for kind in TYPED}:
        yield "docs/settings.md: the settings have changed: python -m tests.docs.settings_table rewrites them"
    sources = [path for folder in ("crawler", "settings") for path in (ROOT / folder).rglob("*.py")]
    for path in (*sources, *(each for each in PAGES if each != DECISIONS)):
        for name in sorted(set(_SETTING.findall(path.read_text(encoding="utf-8"))) - KNOWN):
            yield f"{_named(path)}: {name} is no setting"
    for path in _ALL:
        for match in filter(None, map(_ASSIGNED.fullmatch, code_of(path))):
            if (error := _error_of(match[1], match[2])) is not None:
                yield f"{_named(path)}: {match[0]}: {error}"


def _error_of(name: str, value: str) -> str | None:
    try:
        given = {name: ast.literal_eval(value)}
    except ValueError:
        if not value.isidentifier():
            return "no value"
        given = {name: len}
    try:
        DedupSettings.read(given.get)
        ItemSettings.read(given.get)
    except SettingsError as error:
        return str(error)
    return None


def requirements() -> Problems:
    """Say which pinned versions the package does not allow, on each Python that it names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    allowed = list(map(Requirement, chain(project["dependencies"], *project["optional-dependencies"].values())))
    lines = chain.from_iterable(path.read_text().splitlines() for path in (ROOT / "requirements").glob("*.txt"))
    pinned = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if each.startswith("Programming")]
    for version in (each for each in named if "." in each):
        for rule in allowed:
            is_needed = rule.marker is None or rule.marker.evaluate({"python_version": version})
            for pin in (each for each in pinned if each.name.lower() == rule.name.lower()):
                is_installed = pin.marker is None or pin.marker.evaluate({"python_version": version})
                if is_installed is not is_needed or not rule.specifier.contains(str(pin.specifier).lstrip("=")):
                    yield f"requirements: {pin} on Python {version}, where {rule} is allowed"


CHECKS: tuple[Callable[[], Problems], ...] = (commands, lengths, links, forms, lists, rules, settings, requirements)


def main() -> int:
    """Print what is wrong; return the exit status."""
    found = [problem for each in CHECKS for problem in each()]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
