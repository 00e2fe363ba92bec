"""`dedup explain`: why two documents are duplicates, or are not."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from dedup.cli.databases import USUAL, add_database_argument, database_url, has_database, opened, settings_of
from dedup.cli.settings_options import (
    add_encoding_argument,
    add_json_argument,
    add_settings_arguments,
    make_settings,
    read_settings_options,
)
from dedup.console import plain, print_answer, shortened
from dedup.errors import InputError
from dedup.readers.files import require_one_document
from dedup.readers.named import TEXT_PREFIX, NamedText, read_named
from dedup.report.explanation import Explanation, Side, explain, explain_dropped, find_page
from dedup.report.explanation_shown import as_object, lines
from dedup.report.stored_texts import Origin
from dedup.signature.schemes import Scheme, find_scheme

_SHOWN = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = "%(prog)s URL [options]\n       %(prog)s A B [options]"
    parser.add_argument(
        "documents",
        nargs="*",
        metavar="URL or A B",
        help="the URL of a page that was dropped, or kept as similar to another one; or two documents, each a file "
        f"(text, HTML or PDF), the URL of a stored page, or a text; {TEXT_PREFIX}... is always a text. B is decided as "
        "if it came after A",
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
    found = [_find(name, options) for name in options.documents]
    settings = make_settings(given)
    if any(isinstance(each, Side) for each in found):
        with opened(options) as database:
            settings = settings_of(database, given)
    scheme = find_scheme(settings.scheme)
    a, b = (each if isinstance(each, Side) else _signed(each, scheme) for each in found)
    return explain(a, b, settings)


def _explain_dropped(options: argparse.Namespace, given: Mapping[str, str]) -> Explanation:
    with opened(options) as database:
        return explain_dropped(database, options.documents[0], settings_of(database, given))


def _signed(text: NamedText, scheme: Scheme) -> Side:
    content, signature = text.sign(scheme)
    return Side(text.name, text.origin, signature, content, text.guessed_encoding)


def _find(name: str, options: argparse.Namespace) -> NamedText | Side:
    """Return what a name stands for: a file or a literal text, else a page of the database, else a text of words."""
    require_one_document(name)
    if (text := read_named(name, options.encoding)) is not None:
        return text
    where = f"and there is no database {USUAL}"
    if options.database or has_database(database_url(None)):
        with opened(options) as database:
            where = f"and no such page in database {database.name}"
            if (page := find_page(database, name)) is not None:
                return page
    if any(map(str.isspace, name)):
        return NamedText(name, Origin.TEXT, name)
    raise InputError(
        f"no such file: {shortened(plain(name), _SHOWN)}, {where} (use {TEXT_PREFIX}... for a literal text, or name "
        "another --database)"
    )
