"""The page as a file: template, styles and scripts, and its data, compressed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import Any, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dedup.console import in_unit
from dedup.report.changes.queries import ChangeRow, Changes
from dedup.report.contents import Report
from dedup.report.html.model import LONGEST_KEY, MOST_ROWS, Compare, Texts, difference_of, page_of

_STYLES = ("page.css", "list.css", "charts.css")
_COMMON = ("text.js", "unpack.js", "differences.js", "dialog.js", "list.js")
_OF_REPORT = ("data.js", "marks.js", "full.js", "pair.js", "tables.js", "charts.js", "main.js")
_ASSETS = files("dedup.report.html") / "assets"


def data_of_changes(changes: Changes) -> dict[str, Any]:
    """Read what changed, whose rows are used up; all of what is returned can be JSON."""
    texts = Texts()
    return {
        "runs": list(changes.runs),
        "counts": {change.value: count for change, count in changes.counts.items()},
        "rows": [_object(row, texts) for row in islice(changes.rows, MOST_ROWS)],
        "rows_cut": sum(1 for _ in changes.rows),
        # Last, as the rows number them.
        "keys": list(texts.all),
        "shown": texts.shown(),
    }


def _object(row: ChangeRow, texts: Texts) -> dict[str, Any]:
    return {
        "change": row.change.value,
        "key": texts.number(row.key),
        "moved_from": None if row.moved_from is None else texts.number(row.moved_from),
        "before": row.before and row.before.value,
        "now": row.now and row.now.value,
        "original": None if row.original is None else texts.number(row.original),
        "why": row.why[:LONGEST_KEY],
        "decided": round(row.decided, 1),
        "difference": row.difference and difference_of(row.difference),
    }


@dataclass(frozen=True)
class _Inline:
    """The contents of a `script` or `style` element of the page, and the hash by which its policy allows it."""

    text: Markup
    hash: str

    @classmethod
    def of(cls, *names: str) -> _Inline:
        """Join files of the package."""
        text = "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        return cls(Markup(text), f"'sha256-{digest}'")  # noqa: S704 -- files of this package


def write_page(report: Report, compare: Compare, stream: TextIO, about: str = "", *, is_served: bool = False) -> None:
    """Write an open report, whose rows are used up, as one page that needs nothing else.

    Args:
        report: what it shows.
        compare: says which words of rows' documents differ.
        stream: where it is written.
        about: what the report is about; empty: its runs.
        is_served: whether it is served by `dedup.report.html.serving`, so that marks act at once.
    """
    data = page_of(report, compare)
    data["is_served"] = is_served
    # What is about files says so, and has no database that `dedup review` could ask.
    data["has_database"] = not about
    scripts = [_Inline.of("chartist.umd.js"), _Inline.of(*_COMMON, *_OF_REPORT)]
    saved, total = (data["counts"][name] for name in ("saved_bytes", "text_bytes"))
    shown = {
        "is_served": is_served,
        "counts": data["counts"],
        "about": about or _run_of(report),
        "host": report.host,
        "saved": in_unit(saved, total),
        "total": in_unit(total),
        "licence": (_ASSETS / "chartist.LICENSE").read_text(encoding="utf-8").strip(),
    }
    _write("page.html.j2", scripts, data, shown, stream)


def write_changes_page(changes: Changes, stream: TextIO) -> None:
    """Write what changed between two runs, whose rows are used up, as one page that needs nothing else."""
    shown = {
        "is_served": False,
        "runs": changes.runs,
        "host": changes.host,
        "counts": {change.value: count for change, count in changes.counts.items()},
        "changed": sum(changes.counts.values()),
        "unchanged": changes.unchanged,
        "licence": "",
    }
    _write("changes.html.j2", [_Inline.of(*_COMMON, "changes.js")], data_of_changes(changes), shown, stream)


def _write(
    template: str, scripts: Sequence[_Inline], data: dict[str, Any], shown: Mapping[str, Any], stream: TextIO
) -> None:
    environment = Environment(
        loader=PackageLoader("dedup.report.html", "assets"), autoescape=True, undefined=StrictUndefined
    )
    values = {**shown, "style": _Inline.of(*_STYLES), "scripts": scripts, "data": _compressed(data)}
    stream.writelines(environment.get_template(template).generate(values))


def _run_of(report: Report) -> str:
    first, last = report.runs[0], report.runs[-1]
    return f"run {first}" if len(report.runs) == 1 else f"{len(report.runs):,} runs, {first} to {last}"


def _compressed(data: dict[str, Any]) -> str:
    # Letters of all scripts as such: escapes would be three times as long before they are compressed. What is no
    # letter, half of a pair of surrogates, is replaced.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()
