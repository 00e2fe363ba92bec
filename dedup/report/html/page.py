"""A report of a database in any format; the page as a file: template, styles and scripts, and its data, compressed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shlex
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, TextIO

from markupsafe import Markup

from dedup.console import in_unit
from dedup.report.addresses import read_learnt_rules
from dedup.report.contents import Report
from dedup.report.html.model import page_of
from dedup.report.render import Format, write_report
from dedup.store.database import Database

_STYLES = ("page.css", "list.css", "charts.css")
_SCRIPTS = (
    "text.js",
    "list.js",
    "data.js",
    "marks.js",
    "full.js",
    "pair.js",
    "tables.js",
    "charts.js",
    "main.js",
)
_ASSETS = files("dedup.report.html") / "assets"


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


def write_page(report: Report, stream: TextIO, about: str = "", *, is_served: bool = False) -> None:
    """Write an open report, whose rows are used up, as one page that needs nothing else.

    Args:
        report: what it shows.
        stream: where it is written.
        about: what the report is about; empty: its title.
        is_served: whether it is served by `dedup.report.html.serving`, so that marks act at once.
    """
    data = page_of(report)
    data["is_served"] = is_served
    # What is about files says so, and has no database that `dedup review` could ask.
    data["review"] = "" if about else shlex.join(report.reviewing)
    scripts = [_Inline.of("chartist.umd.js"), _Inline.of(*_SCRIPTS)]
    saved, total = (data["counts"][name] for name in ("saved_bytes", "text_bytes"))
    shown = {
        "is_served": is_served,
        "counts": data["counts"],
        "is_crawl": data["is_crawl"],
        "why_not_flagged": data.pop("why_not_flagged"),  # nothing of the scripts needs it
        "about": about or report.title,
        "saved": in_unit(saved, total),
        "total": in_unit(total),
        "licence": (_ASSETS / "chartist.LICENSE").read_text(encoding="utf-8").strip(),
    }
    values = {**shown, "style": _Inline.of(*_STYLES), "scripts": scripts, "data": _compressed(data)}
    # Other formats, and all crawls, need not wait for it.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    loader = PackageLoader("dedup.report.html", "assets")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    stream.writelines(environment.get_template("page.html.j2").generate(values))


def write_in_any_format(
    report: Report, database: Database, output_format: Format, stream: TextIO, *, is_whole: bool = False
) -> None:
    """Write an open report.

    Args:
        report: what was decided.
        database: where that stands.
        output_format: how it is written.
        stream: where it is written.
        is_whole: whether a table holds all pairs.

    Raises:
        DatabaseError: the database cannot be read.
    """
    if output_format is Format.HTML:
        write_page_of(report, database, stream)
    else:
        write_report(report, output_format, stream, is_whole=is_whole)


def write_page_of(report: Report, database: Database, stream: TextIO, *, is_served: bool = False) -> None:
    """Write an open report as a page, see `write_in_any_format`; is_served: that of `dedup.report.html.serving`."""
    write_page(replace(report, address_rules=read_learnt_rules(database, report.host)), stream, is_served=is_served)


def _compressed(data: dict[str, Any]) -> str:
    # Letters of all scripts as such: escapes would be three times as long before they are compressed. What is no
    # letter, half of a pair of surrogates, is replaced.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()
