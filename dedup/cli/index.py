"""`dedup index COMMAND ...`: saved indexes of documents."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from dedup.cli import files
from dedup.cli.databases import add_database_argument, opened, settings_of
from dedup.cli.files_options import (
    REJECTED,
    STANDARD_INPUT,
    add_field_arguments,
    local,
    path_or_url,
    read_options,
)
from dedup.cli.settings_options import (
    add_encoding_argument,
    add_json_argument,
    add_settings_arguments,
    read_settings_options,
)
from dedup.compiled import require_compiled
from dedup.console import (
    Line,
    counted,
    in_unit,
    linked,
    plain,
    print_answer,
    print_message,
    shortened,
    similarity,
    table,
)
from dedup.corpus.index import SavedIndex
from dedup.corpus.index_database import add_crawled, load
from dedup.corpus.index_tools import Contents, Hit, IndexQuery, find_near, read_contents
from dedup.corpus.index_writing import new_index, require_free
from dedup.corpus.tally import about_settings
from dedup.errors import InputError
from dedup.readers.documents import CorpusDocument, Rejected
from dedup.readers.files import holds_records
from dedup.readers.named import TEXT_PREFIX, NamedText, read_named
from dedup.readers.portions import read_files
from dedup.report.stored_texts import Origin
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import BITS
from dedup.store.urls import url_of

_LABEL = 14
_RADIUS = 3
_FINGERPRINT = re.compile("(?:0x)?[0-9a-f]{16}", re.IGNORECASE)
_NAME_WIDTH = 60
# Each of them goes through the whole index.
_MOST_DOCUMENTS = 100
_HEADINGS = ("found", ">distance", ">similarity", "verdict", "rule", "leader")


class _Command(NamedTuple):
    """A command: what it is for, what adds its arguments, and what runs it."""

    about: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of all commands."""
    parsers = parser.add_subparsers(dest="index_command", metavar="COMMAND", required=True)
    for name, (about, add, _) in _COMMANDS.items():
        command = parsers.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        add(command)


def run(options: argparse.Namespace) -> int:
    """Run the command that was named."""
    return _COMMANDS[options.index_command].run(options)


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", type=Path, metavar="INDEX", help="a folder")


def _add_build(parser: argparse.ArgumentParser) -> None:
    more = "; of the crawl's settings min_tokens and, in the paper's mode, short_tokens matter"
    add_database_argument(parser, more)
    parser.add_argument("-o", "--output", type=local, required=True, metavar="INDEX", help="the folder to make")
    parser.add_argument("--force", action="store_true", help="overwrite an index")
    add_json_argument(parser)
    add_settings_arguments(parser)


def _build(options: argparse.Namespace) -> int:
    """Build an index of a database."""
    require_free(options.output, force=True)
    with opened(options) as database:
        given = read_settings_options(options)
        settings = settings_of(database, given)
        if settings.mode != (mode := settings_of(database, {}).mode):
            raise InputError(f"--mode {settings.mode}: database {database.name} was made with {mode}; leave it out")
        require_compiled()
        with new_index(options.output, settings, force=options.force) as index:
            read = add_crawled(database, settings, index)
    said = f"{index.contents:,} documents of different contents, of {read:,} in {database.name}"
    value = {"index": str(options.output), "read": read, "added": index.contents}
    print_answer(value, [f"{options.output}: {said}"], as_json=options.json)
    return 0


def _add_info(parser: argparse.ArgumentParser) -> None:
    _add_index(parser)
    add_json_argument(parser)


def _info(options: argparse.Namespace) -> int:
    """Print what an index consists of."""
    contents = read_contents(options.index)
    rows = (f"{label:<{_LABEL}}{text}" for label, text in _info_rows(contents))
    print_answer(asdict(contents), rows, as_json=options.json)
    return 0


def _info_rows(contents: Contents) -> Iterator[tuple[str, str]]:
    yield "index", plain(contents.path)
    yield "format", f"{contents.format}"
    yield "scheme", plain(contents.scheme)
    yield "settings", plain(contents.settings) or "the defaults"
    yield "tables", plain(contents.design)
    of_them = f"{contents.leaders:,} originals, {contents.duplicates:,} duplicates"
    yield "documents", f"{contents.documents:,} of different contents: {of_them}"
    yield "bytes", f"{in_unit(contents.bytes)} in {counted(contents.files, 'file')}"


def _add_query(parser: argparse.ArgumentParser) -> None:
    _add_index(parser)
    parser.add_argument(
        "documents",
        nargs="*",
        metavar="DOCUMENT",
        help=f"a file (text, HTML, or records as `dedup files` reads them; - for JSON lines on standard input), or a "
        f"text: {TEXT_PREFIX}...; compared as a crawl would, by the index's settings",
    )
    parser.add_argument(
        "--fingerprint",
        action="append",
        default=[],
        metavar="HEX",
        help="16 hexadecimal digits; everything within --radius is found; may be given again",
    )
    parser.add_argument(
        "--fingerprints", metavar="FILE", help="a file of fingerprints, one a line; - is the standard input"
    )
    parser.add_argument(
        "--radius", type=int, default=_RADIUS, metavar="BITS", help=f"0 to {BITS}, for fingerprints; default: 3"
    )
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="finds of each shown at most; default: 10")
    add_encoding_argument(parser)
    add_field_arguments(parser)
    add_json_argument(parser)


def _query(options: argparse.Namespace) -> int:
    """Look up and print what was found; the status is 0, whether anything was or not, and 3 if some were rejected."""
    if not options.documents and not options.fingerprint and options.fingerprints is None:
        raise InputError("nothing to look up: give files, texts, --fingerprint HEX, or --fingerprints FILE")
    if not 0 <= options.radius <= BITS:
        raise InputError(f"--radius {options.radius}: expected 0 to {BITS} bits")
    if options.limit < 1:
        raise InputError(f"--limit {options.limit}: expected at least 1")
    asked = [_fingerprint(text, "--fingerprint") for text in options.fingerprint]
    if options.fingerprints is not None:
        asked += _read_fingerprints(options.fingerprints)
    rejected: list[Rejected] = []
    texts = [each for name in options.documents for each in _texts(name, options, rejected)]
    if texts:
        require_compiled()
    saved = SavedIndex(options.index)
    answers = [(name, found[: options.limit]) for name, found in _like(saved, texts)]
    near = find_near(saved, asked, options.radius, options.limit)
    answers += zip((f"{fingerprint:016x}" for fingerprint in asked), near, strict=True)
    objects = [{"query": name, "found": [asdict(each) for each in found]} for name, found in answers]
    print_answer(objects, _lines(answers), as_json=options.json)
    return REJECTED if rejected and not options.allow_rejects else 0


def _fingerprint(text: str, source: str) -> int:
    if not _FINGERPRINT.fullmatch(text):
        shown = shortened(plain(repr(text)), _NAME_WIDTH)
        raise InputError(f"{source} {shown}: expected 16 hexadecimal digits, such as 0f3a5c7e9b1d2f40")
    return int(text, 16)


def _read_fingerprints(name: str) -> list[int]:
    """Read a file of fingerprints, one a line; empty lines are left out."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error}); check the name") from None
    source = "standard input" if name == "-" else name
    lines = enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1)
    return [_fingerprint(line.strip(), f"{source}: line {number:,}:") for number, line in lines if line.strip()]


def _texts(name: str, options: argparse.Namespace, rejected: list[Rejected]) -> Iterator[NamedText]:
    """Read what is named: one text, or the documents of a file of records; name what is none, and add it to those."""
    if name != STANDARD_INPUT and (name.startswith(TEXT_PREFIX) or not holds_records(name)):
        yield _text(name, options.encoding)
        return
    with files.input_files([path_or_url(name)]) as found:
        for number, item in enumerate(read_files(found.files, read_options(options))):
            if number == _MOST_DOCUMENTS:
                way_out = f"`dedup files {plain(name)} --against {options.index} --pairs FILE` compares many"
                raise InputError(f"{plain(name)}: {_MOST_DOCUMENTS} documents are looked up at most; {way_out}")
            if isinstance(item, Rejected):
                print_message("index query", f"{item.source}: {item.reason}")
                rejected.append(item)
            elif isinstance(item, CorpusDocument):
                origin = Origin.TEXT if item.html is None else Origin.HTML
                yield NamedText(item.key, origin, item.text or "" if item.html is None else item.html)


def _text(name: str, encoding: str) -> NamedText:
    text = read_named(name, encoding)
    if text is None:
        shown = shortened(plain(name), _NAME_WIDTH)
        raise InputError(f"no such file: {shown} (use {TEXT_PREFIX}... for a literal text, or --fingerprint)")
    return text


def _like(saved: SavedIndex, texts: Sequence[NamedText]) -> Iterator[tuple[str, list[Hit]]]:
    query = IndexQuery(saved)
    scheme = find_scheme(saved.settings.scheme)
    for text in texts:
        yield text.name, query.like(text.sign(scheme)[1])


def _lines(answers: Sequence[tuple[str, list[Hit]]]) -> Iterator[Line]:
    for number, (name, found) in enumerate(answers):
        if number:
            yield ""
        yield f"query {shortened(plain(name), _NAME_WIDTH)}"
        if not found:
            yield "nothing found"
            continue
        rows = [
            (
                linked(each.key),
                str(each.distance),
                "-" if each.similarity is None else similarity(each.similarity),
                _verdict(each),
                each.rule or "-",
                "" if each.leader is None else linked(each.leader),
            )
            for each in found
        ]
        yield table(_HEADINGS, rows)


def _verdict(found: Hit) -> str:
    if found.is_duplicate:
        return "duplicate"
    return "similar" if found.is_similar else "-"


def _add_load(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make the database of a crawl that knows the documents of an index: pages are duplicates of them, and name "
        "them as their originals. If it is interrupted, run it again to resume."
    )
    _add_index(parser)
    parser.add_argument("database", metavar="DATABASE", help="a new one: a URL, or an SQLite file")
    add_json_argument(parser)


def _load(options: argparse.Namespace) -> int:
    """Load an index into a new database."""
    saved = SavedIndex(options.index)
    loaded = load(saved, url_of(options.database))
    settings = list(_settings_of(saved))
    lines = [f"{loaded.database}: {loaded.documents:,} documents, as run '{loaded.run}'"]
    if loaded.left_out:
        lines.append(f"left out: {loaded.left_out:,} pages without text, as an index does not know their bytes")
    if settings:
        lines.append(f"crawl into it with the settings of the index: {', '.join(settings)}")
    print_answer({**loaded._asdict(), "settings": settings}, lines, as_json=options.json)
    return 0


def _settings_of(saved: SavedIndex) -> Iterator[str]:
    """Yield the settings that are not the defaults, as they are written."""
    usual = about_settings(RuleSettings())
    for name, value in saved.named_settings.items():
        if name in usual and value != usual[name]:
            yield f"{RuleSettings.full_name(name)}={saved.settings.scheme if name == 'scheme' else value}"


_COMMANDS = {
    "build": _Command("make an index of the documents that a crawl's database knows", _add_build, _build),
    "info": _Command("say what an index consists of: format, scheme, documents, bytes", _add_info, _info),
    "query": _Command("look up texts, files or fingerprints", _add_query, _query),
    "load": _Command("make the database of a crawl that knows the documents of an index", _add_load, _load),
}
