"""`dedup evaluate DIR...`: precision, recall and F1 on labelled sets, as the pipeline decides."""

from __future__ import annotations

import argparse
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from dedup.cli.settings_options import (
    add_json_argument,
    add_settings_arguments,
    make_settings,
    read_assignments,
    read_settings_options,
)
from dedup.console import counted, print_answer, print_message
from dedup.errors import InputError
from dedup.evaluation import (
    AnalysedDocument,
    LabelledSet,
    Method,
    Pipeline,
    Reference,
    SetResult,
    analyse_documents,
    as_object,
    comparison,
    differences,
    pool_results,
    read_marked,
    read_set,
    run_method,
    table,
)
from dedup.rules.settings import Mode
from dedup.signature.schemes import Scheme
from dedup.store.database import open_existing_database
from dedup.store.urls import url_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="folder with docs.jsonl and pairs.jsonl; with --database also a file of marks that a report has saved",
    )
    parser.add_argument(
        "--database", metavar="URL", help="where the documents of marks are known: a URL or an SQLite file"
    )
    add_settings_arguments(parser)
    parser.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="compare with these settings, such as scheme=pairs,min_jaccard=.6 or mode=paper; radius=10 alone is the "
        "paper's mode, too; may be given again",
    )
    parser.add_argument(
        "--reference",
        dest="references",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="compare with an exact measure: jaccard=.6 of shingles, cosine=.9 of words; may be given again",
    )
    parser.add_argument("--show-errors", type=int, default=0, metavar="N", help="show the first wrong decisions")
    parser.add_argument("--limit", type=int, metavar="N", help="use only the first documents of each set")
    parser.add_argument("--processes", type=int, metavar="N", help="how many make signatures (default: one a core)")
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Evaluate and print."""
    base = read_settings_options(options)
    given = {"dedup": base}
    given |= {f"with {other}": base | _changes(other) for other in options.others}
    methods: list[Method] = [Pipeline(name, make_settings(values)) for name, values in given.items()]
    methods += map(Reference, options.references)
    for name in ("limit", "processes"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise InputError(f"--{name} {getattr(options, name)}: expected at least 1")
    sets = [_read(folder, options) for folder in options.folders]
    results = _run(methods, sets, options.processes)
    pooled = [pool_results(each) for each in results]
    lines = [table(methods[0].name, results[0], pooled[0])]
    if len(methods) > 1:
        lines += ["", comparison([(each.name, all_) for each, all_ in zip(methods, pooled, strict=True)])]
    shown = chain(lines, differences(pooled[0].errors, options.show_errors))
    print_answer(_object(methods, results, pooled), shown, as_json=options.json)
    return 0


def _changes(text: str) -> dict[str, str]:
    changes = read_assignments("--with", text.split(","))
    # Elsewhere it is refused: a project that does without a check must say so.
    return ({"mode": Mode.PAPER} if "radius" in changes else {}) | changes


def _read(path: Path, options: argparse.Namespace) -> LabelledSet:
    if not path.is_file():
        return read_set(path, options.limit)
    if options.database is None:
        raise InputError(f"{path}: is a file, and no labelled set; of marks of a report say --database, too")
    with closing(open_existing_database(url_of(options.database))) as database:
        labelled, left_out = read_marked(path, database)
    if left_out:
        print_message(
            "evaluate", f"{counted(left_out, 'pair')} of {path} left out: neither texts nor words of them are stored"
        )
    return labelled


def _run(methods: list[Method], sets: list[LabelledSet], processes: int | None) -> list[list[SetResult]]:
    analysed: dict[Scheme, list[dict[str, AnalysedDocument]]] = {}
    results = []
    for method in methods:
        if method.scheme not in analysed:
            analysed[method.scheme] = analyse_documents(sets, method.scheme, processes)
        documents = analysed[method.scheme]
        results.append([run_method(method, *each) for each in zip(sets, documents, strict=True)])
    return results


def _object(methods: list[Method], results: list[list[SetResult]], pooled: list[SetResult]) -> dict[str, Any]:
    each = [
        {"method": method.name, "sets": as_object(own), "all": as_object([all_])[0]}
        for method, own, all_ in zip(methods, results, pooled, strict=True)
    ]
    return {**each[0], "compared": each[1:]} if len(each) > 1 else each[0]
