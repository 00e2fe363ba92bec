"""`dedup explain`: why two documents are duplicates, or are not."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import closing

from dedup.cli.databases import USUAL, add_database_argument, database_url, has_database, opened
from dedup.cli.settings_options import (
    add_encoding_argument,
    add_json_argument,
    add_settings_arguments,
    make_settings,
    read_settings_options,
    with_scheme_of,
)
from dedup.console import plain, print_answer, shortened
from dedup.errors import InputError
from dedup.readers.files import require_one_document
from dedup.report.explanation import Explanation, as_object, explain, explain_dropped, lines
from dedup.report.texts import TEXT_PREFIX, MadeWith, Material, Origin, Side, find_dropped, find_page, read_named
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import find_scheme
from dedup.store.database import open_existing_database

_SHOWN = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = "%(prog)s URL [options]\n       %(prog)s A B [options]"
    parser.add_argument(
        "documents",
        nargs="*",
        metavar="URL or A B",
        help="the URL of a page that was dropped, or kept as similar to another one; or two documents, each a file "
        f"(text or HTML), the URL of a stored page, or a text; {TEXT_PREFIX}... is always a text. B is decided as if "
        "it came after A",
    )
    add_database_argument(parser, "; its pages are explained by the scheme and the table design that it was made with")
    add_encoding_argument(parser)
    parser.add_argument("--bits", action="store_true", help="show fingerprints and shared keys, too")
    add_settings_arguments(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Explain two documents, or a page that was dropped or is similar."""
    given = read_settings_options(options)
    # What cannot be used is refused before anything is read.
    make_settings(given)
    if len(options.documents) not in (1, 2):
        raise InputError(f"give the URL of a page, or two documents; {len(options.documents)} given: dedup explain -h")
    is_pair = len(options.documents) > 1
    explanation = _explain_pair(options, given) if is_pair else _explain_dropped(options, given)
    shown = lines(explanation, with_bits=options.bits)
    print_answer(as_object(explanation), shown, as_json=options.json)
    return 0


def _explain_pair(options: argparse.Namespace, given: Mapping[str, str]) -> Explanation:
    found = [_find(name, options.database or "", options.encoding) for name in options.documents]
    settings = _settings(given, next((made_with for _, made_with in found if made_with is not None), None))
    scheme = find_scheme(settings.scheme)
    a, b = (each if isinstance(each, Side) else each.side(scheme) for each, _ in found)
    return explain(a, b, settings)


def _explain_dropped(options: argparse.Namespace, given: Mapping[str, str]) -> Explanation:
    with opened(options) as database:
        dropped = find_dropped(database, options.documents[0])
    return explain_dropped(dropped, _settings(given, dropped.made_with))


def _settings(given: Mapping[str, str], made_with: MadeWith | None) -> RuleSettings:
    """Make settings; what a database was made with holds for its pages."""
    if made_with is None:
        return make_settings(given)
    settings = {"tables": str(made_with.tables), **given}
    return make_settings(with_scheme_of(settings, made_with.scheme, made_with.database))


def _find(name: str, url: str, encoding: str) -> tuple[Material | Side, MadeWith | None]:
    require_one_document(name)
    material = read_named(name, encoding)
    if material is not None:
        return material, None
    where = f"and there is no database {USUAL}"
    address = database_url(url)
    if url or has_database(address):
        with closing(open_existing_database(address)) as database:
            where = f"and no such page in database {database.name}"
            page = find_page(database, name)
        if page is not None:
            return page
    if any(map(str.isspace, name)):
        return Material(name, Origin.TEXT, name), None
    raise InputError(
        f"no such file: {shortened(plain(name), _SHOWN)}, {where} (use {TEXT_PREFIX}... for a literal text, or name "
        "another --database)"
    )
