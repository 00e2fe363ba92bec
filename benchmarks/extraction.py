"""Pages whose main text people have marked: how well it is found, by type of page, and what that costs."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from dedup.signature.extraction import find_text, parse_html

_WORD = re.compile(r"\w+")
_WAYS = ("fast", "full", "page", "none")


def run(*, data: Path) -> dict[str, Any]:
    """Extract the pages of WCXB and print for each type the F1 of words, the way the text was found, and the CPU time.

    Args:
        data: a folder that holds `wcxb/pages.jsonl`: `type`, `text`, and `html`, the path of a compressed page.

    Returns:
        The figures by type, and as "mean" the means of all types.

    Raises:
        OSError: there are no such pages.
    """
    folder = data / "wcxb"
    pages = list(map(json.loads, (folder / "pages.jsonl").read_bytes().splitlines()))
    find_text(parse_html("<p>What is imported and compiled at first is no cost of a page.</p>"))
    by_type: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for page in pages:
        html = gzip.decompress((folder / page["html"]).read_bytes())
        started = time.process_time()
        main = find_text(parse_html(html))
        seconds = time.process_time() - started
        by_type[page["type"]].append((word_f1(main.text, page["text"]), 1000 * seconds, main.how or "none"))
    figures = {name: _figures_of(rows) for name, rows in sorted(by_type.items())}
    types = list(figures.values())
    figures["mean"] = {name: fmean(each[name] for each in types) for name in ("f1", "ms")}
    figures["mean"] |= {name: sum(each[name] for each in types) for name in ("pages", *_WAYS)}
    print(f"{'':14}{'F1':>6}{'ms':>7}{'pages':>7}" + "".join(f"{way:>6}" for way in _WAYS))
    for name, row in figures.items():
        ways = "".join(f"{row[way]:>6}" for way in _WAYS)
        print(f"{name:14}{row['f1']:>6.3f}{row['ms']:>7.1f}{row['pages']:>7}{ways}")
    return figures


def _figures_of(rows: list[tuple[float, float, str]]) -> dict[str, Any]:
    ways = Counter(way for _, _, way in rows)
    means = {"f1": fmean(score for score, _, _ in rows), "ms": fmean(ms for _, ms, _ in rows)}
    return {**means, "pages": len(rows), **{way: ways[way] for way in _WAYS}}


def word_f1(found: str, marked: str) -> float:
    """Return the harmonic mean of precision and recall of the words of a text, each as often as it stands there."""
    words, wanted = (Counter(_WORD.findall(text.lower())) for text in (found, marked))
    total = words.total() + wanted.total()
    return 2 * (words & wanted).total() / total if total else 1.0
