"""`dedup index query`: what is like a text or a file, or near a fingerprint?"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from dedup.cli.compiling import compile_first
from dedup.corpus.saved.querying import Hit, Query, find_near
from dedup.corpus.saved.reader import SavedIndex
from dedup.display import cut, plain, readable, similarity
from dedup.errors import InputError
from dedup.report.columns import aligned, fit
from dedup.report.explanation.decoding import ENCODING_HELP, require_encoding
from dedup.report.explanation.sides import TEXT_PREFIX, Material, read_named
from dedup.report.output import open_output
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import BITS
from dedup.terminal import width_of, write_lines
from dedup.warming import SIGNATURES

_RADIUS = 3
_FINGERPRINT = re.compile("(?:0x)?[0-9a-f]{16}", re.IGNORECASE)
_NAME_WIDTH = 60
_HEADINGS = ("found", "distance", "similarity", "verdict", "rule", "leader")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("index", type=Path, metavar="INDEX", help="a folder")
    parser.add_argument(
        "documents",
        nargs="*",
        metavar="DOCUMENT",
        help=f"a file (text or HTML), or a text: {TEXT_PREFIX}...; compared as a crawl would, by the index's settings",
    )
    parser.add_argument(
        "--fingerprint",
        action="append",
        default=[],
        metavar="HEX",
        help="16 hexadecimal digits; everything within --radius is found; may be given again",
    )
    parser.add_argument(
        "--fingerprints",
        metavar="FILE",
        help="a file of fingerprints, one a line; - is the standard input",
    )
    parser.add_argument(
        "--radius", type=int, default=_RADIUS, metavar="BITS", help=f"0 to {BITS}, for fingerprints; default: 3"
    )
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="finds of each shown at most; default: 10")
    parser.add_argument("--encoding", metavar="NAME", help=ENCODING_HELP)
    parser.add_argument("--json", action="store_true", help="print an object for a program")


def run(options: argparse.Namespace) -> int:
    """Look up and print what was found; the status is 0, whether anything was or not."""
    if not options.documents and not options.fingerprint and options.fingerprints is None:
        raise InputError("nothing to look up: give files, texts, --fingerprint HEX, or --fingerprints FILE")
    if not 0 <= options.radius <= BITS:
        raise InputError(f"--radius {options.radius}: expected 0 to {BITS} bits")
    if options.limit < 1:
        raise InputError(f"--limit {options.limit}: expected at least 1")
    asked = [_fingerprint(text, "--fingerprint") for text in options.fingerprint]
    if options.fingerprints is not None:
        asked += _read_fingerprints(options.fingerprints)
    if options.encoding:
        require_encoding(options.encoding)
    materials = [_material(name, options.encoding or "") for name in options.documents]
    if materials:
        compile_first("index query", *SIGNATURES)
    with closing(SavedIndex(options.index)) as saved:
        answers = [(name, found[: options.limit]) for name, found in _like(saved, materials)]
        near = find_near(saved, asked, options.radius, options.limit)
        answers += zip((f"{fingerprint:016x}" for fingerprint in asked), near, strict=True)
    with open_output("") as stream:
        if options.json:
            objects = [{"query": name, "found": [asdict(each) for each in found]} for name, found in answers]
            stream.write(json.dumps(objects, indent=2) + "\n")
            return 0
        write_lines(_table(answers, width_of(stream)), stream)
    return 0


def _fingerprint(text: str, source: str) -> int:
    if not _FINGERPRINT.fullmatch(text):
        shown = cut(plain(repr(text)), _NAME_WIDTH)
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


def _material(name: str, encoding: str) -> Material:
    material = read_named(name, encoding)
    if material is None:
        shown = cut(plain(name), _NAME_WIDTH)
        raise InputError(f"{shown!r} is no file: write {TEXT_PREFIX}... for a text, --fingerprint for a fingerprint")
    return material


def _like(saved: SavedIndex, materials: Sequence[Material]) -> Iterator[tuple[str, list[Hit]]]:
    query = Query(saved)
    scheme = find_scheme(saved.settings.scheme)
    for material in materials:
        yield material.name, query.like(material.side(scheme).signature)


def _table(answers: Sequence[tuple[str, list[Hit]]], width: int | None) -> Iterator[str]:
    for number, (name, found) in enumerate(answers):
        if number:
            yield ""
        yield f"query {cut(plain(name), _NAME_WIDTH)}"
        if not found:
            yield "nothing found"
            continue
        rows = [
            (
                readable(each.key),
                str(each.distance),
                "-" if each.similarity is None else similarity(each.similarity),
                _verdict(each),
                each.rule or "-",
                "" if each.leader is None else fit(readable(each.leader), width and width // 3),
            )
            for each in found
        ]
        yield from aligned(_HEADINGS, rows, width)


def _verdict(found: Hit) -> str:
    if found.is_duplicate:
        return "duplicate"
    return "similar" if found.is_similar else "-"
