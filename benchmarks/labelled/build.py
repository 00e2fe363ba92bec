"""Labelled sets made from packages that the registries serve, in two halves: to learn rules on and to confirm them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.labelled.records import all_templates
from benchmarks.labelled.sets import LabelledWriter, Source
from benchmarks.labelled.versions import PROJECTS
from dedup.errors import InputError


def run(*, out: Path, cache: Path | None = None) -> dict[str, Any]:
    """Make labelled sets from packages, `learn` and `confirm`, each source in one of them.

    Args:
        out: the folder to write them to.
        cache: the folder to keep packages in, OUT/packages if left out.

    Returns:
        Pairs by half, kind, language and label; the sets that have none.
    """
    packages = cache or out / "packages"
    counts: Counter[str] = Counter()
    left_out: list[str] = []
    sources: list[tuple[str, Source]] = [("versions", each) for each in PROJECTS]
    sources += [("records", each) for each in all_templates()]
    for kind, source in sources:
        writer = LabelledWriter(out / source.half / f"{kind}-{source.title}", source.language)
        try:
            source.fill(writer, packages)
        except InputError as error:
            print(f"{writer.folder.name}: left out: {error}", file=sys.stderr)
            continue
        if not writer.pairs:
            left_out.append(f"{writer.folder.name}: no pairs")
            continue
        writer.write()
        counts.update(f"{source.half} {kind} {source.language} {each['label']}" for each in writer.pairs.values())
        print(f"{source.half}/{writer.folder.name}: {_labels(writer)}", file=sys.stderr)
    return {"pairs": dict(counts), "left_out": left_out}


def _labels(writer: LabelledWriter) -> str:
    labels = Counter(f"{pair['kind']} {pair['label']}" for pair in writer.pairs.values())
    return ", ".join(f"{name}: {count}" for name, count in sorted(labels.items()))
