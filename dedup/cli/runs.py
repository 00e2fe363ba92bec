"""`dedup runs`: the runs of a database; `dedup runs cancel RUN`: roll one back."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from dedup.cli.databases import add_database_argument, opened
from dedup.cli.settings_options import add_json_argument
from dedup.console import NEAR, WARNING, Line, counted, duration, plain, print_answer, styled, table
from dedup.report.contents import NAMED_BY_TIME
from dedup.rules.documents import Verdict
from dedup.store.cancelling import Cancelled, cancel_run
from dedup.store.document_rows import CANCELLING
from dedup.store.runs import Run, read_runs

_CANCEL_HELP = (
    "Delete what a run added: documents, table entries, verdicts, pages and queued URLs. What another run has seen or "
    "found duplicates of is kept; what the run changed is re-evaluated when it is seen again. If the command is "
    "interrupted, run it again to resume."
)
_STYLES = {"finished": "", CANCELLING: WARNING}
"""Of the states of runs; others have not come to their end."""
_SHORT = {Verdict.EXACT_DUPLICATE: "exact", Verdict.NEAR_DUPLICATE: "near"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_database_argument(parser)
    add_json_argument(parser)
    commands = parser.add_subparsers(dest="runs_command", metavar="cancel")
    cancel = commands.add_parser("cancel", help="roll a run back", description=_CANCEL_HELP)
    cancel.add_argument("run", metavar="RUN", help="its name")
    cancel.add_argument(
        "--force", action="store_true", help="also if it has not ended, as far as the database knows: it was killed"
    )
    # Without defaults, which would take the place of what stands before `cancel`.
    add_database_argument(cancel, default=argparse.SUPPRESS)
    add_json_argument(cancel, default=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """List the runs, or roll one back."""
    return _list(options) if options.runs_command is None else _cancel(options)


def _list(options: argparse.Namespace) -> int:
    with opened(options) as database:
        found = read_runs(database)
    value = {"database": database.name, "runs": [_object(each) for each in found]}
    print_answer(value, _lines(found), as_json=options.json)
    return 0


def _cancel(options: argparse.Namespace) -> int:
    with opened(options, read_only=False) as database:
        taken = cancel_run(database, options.run, force=options.force)
    print_answer(vars(taken), _summary(options.run, taken), as_json=options.json)
    return 0


def _lines(found: Sequence[Run]) -> Iterator[Line]:
    if not found:
        yield "no runs"
        return
    verdicts = [verdict for verdict in Verdict if any(each.documents[verdict] for each in found)]
    are_named = not all(NAMED_BY_TIME.fullmatch(each.name) for each in found)
    rows: list[list[Any]] = []
    for each in found:
        started = [f"{_moment(each.started):%Y-%m-%d %H:%M}"] if are_named else []
        took = "-" if each.finished is None else duration(each.finished - each.started)
        state = styled(plain(each.state), _STYLES.get(each.outcome or "", NEAR))
        counts = (sum(each.documents.values()), *(each.documents[verdict] for verdict in verdicts))
        rows.append([plain(each.name), *started, took, state, *map("{:,}".format, counts)])
    headings = ("run", *(["started"] if are_named else []), ">took", "state", ">documents")
    yield table((*headings, *(f">{_SHORT.get(each, each.value)}" for each in verdicts)), rows)


def _object(each: Run) -> dict[str, object]:
    return {
        "run": each.name,
        "started": _moment(each.started).isoformat(),
        "finished": None if each.finished is None else _moment(each.finished).isoformat(),
        "outcome": each.outcome,
        "state": each.state,
        "documents": {verdict.value: count for verdict, count in each.documents.items()},
    }


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _summary(name: str, taken: Cancelled) -> Iterator[str]:
    yield f"run {plain(name)} is rolled back"
    yield from counts_of(taken)
    if taken.undecided:
        yield "Crawl again to re-evaluate the undecided documents."


def counts_of(taken: Cancelled) -> Iterator[str]:
    """Yield a line for each kind of what was removed with runs, or stays."""
    counts = (
        ("removed", taken.removed, "document", "which it alone had seen"),
        ("undecided", taken.undecided, "document", "of other runs, whose content or original went"),
        ("kept", taken.kept, "document", "which another run has seen, or found copies of"),
    )
    for label, count, what, which in counts:
        if count:
            yield f"{label:<12}{counted(count, what)}   {which}"
    if taken.verdicts:
        yield f"verdicts    {taken.verdicts:,} deleted"
    for name_of_table, count in taken.rows.items():
        if count:
            yield f"rows        {count:,} of table {plain(name_of_table)} deleted"
