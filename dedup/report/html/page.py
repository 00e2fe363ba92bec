"""The page as a file: template, styles and scripts, and its data, compressed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dedup.display import unit_for
from dedup.report.contents import Report
from dedup.report.html.model import Compare, page_of

_STYLES = ("page.css", "list.css", "charts.css")
_LIBRARY = "chartist.umd.js"
_SCRIPTS = ("text.js", "data.js", "marks.js", "list.js", "pair.js", "tables.js", "charts.js", "main.js")
_ASSETS = files("dedup.report.html") / "assets"


@dataclass(frozen=True)
class _Inline:
    """What stands in a `script` or `style` element of the page, and the hash by which its policy allows it."""

    text: Markup
    hash: str

    @classmethod
    def of(cls, *names: str) -> _Inline:
        """Join files of the package."""
        text = "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        return cls(Markup(text), f"'sha256-{digest}'")  # noqa: S704 -- files of this package


def write_page(report: Report, compare: Compare, stream: TextIO, about: str = "") -> None:
    """Write an open report, whose rows are used up, as one page that needs nothing else.

    Args:
        report: what it shows.
        compare: says which words of rows' documents differ.
        stream: where it is written.
        about: what the report is about; empty: its runs.
    """
    page = page_of(report, compare)
    environment = Environment(
        loader=PackageLoader("dedup.report.html", "assets"), autoescape=True, undefined=StrictUndefined
    )
    parts = environment.get_template("page.html.j2").generate(
        counts=page.counts,
        about=about or _run_of(report),
        host=report.host,
        saved=_in_unit(page.counts.saved_bytes, page.counts.text_bytes),
        total=_in_unit(page.counts.text_bytes, page.counts.text_bytes),
        style=_Inline.of(*_STYLES),
        library=_Inline.of(_LIBRARY),
        script=_Inline.of(*_SCRIPTS),
        licence=_licence(),
        data=_compressed(page.data),
    )
    stream.writelines(parts)


def _run_of(report: Report) -> str:
    first, last = report.runs[0], report.runs[-1]
    return f"run {first}" if len(report.runs) == 1 else f"{len(report.runs):,} runs, {first} to {last}"


def _licence() -> str:
    return (_ASSETS / "chartist.LICENSE").read_text(encoding="utf-8").strip()


def _compressed(data: dict[str, Any]) -> str:
    # Letters of all scripts as such: escapes would be three times as long before they are compressed. What is no
    # letter, half of a pair of surrogates, is replaced.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def _in_unit(size: int, total: int) -> str:
    """Write a part of a total in the unit in which the total is best read."""
    unit, factor = unit_for(total)
    return f"{size / factor:,.0f} {unit}"
