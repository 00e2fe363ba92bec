"""Labelled sets made from packages that the registries serve, in two halves: to learn rules on and to confirm them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.labelled.family import FAMILIES
from benchmarks.labelled.licences import SHELVES
from benchmarks.labelled.notes import NOTES
from benchmarks.labelled.packages import version_of
from benchmarks.labelled.records import all_templates
from benchmarks.labelled.sets import LabelledWriter, Source
from benchmarks.labelled.versions import PROJECTS
from dedup.errors import InputError

KINDS: dict[str, Sequence[Source]] = {
    "versions": PROJECTS,
    "notes": NOTES,
    "licences": SHELVES,
    "family": FAMILIES,
    "records": all_templates(),
}
"""What the sets of each kind are made from."""


def run(*, out: Path, cache: Path | None = None, kinds: list[str] | None = None) -> dict[str, Any]:
    """Make labelled sets from packages, `learn` and `confirm`, each source in one of them.

    Args:
        out: the folder to write them to.
        cache: the folder to keep packages in, OUT/packages if left out.
        kinds: which kinds to make, by default all.

    Returns:
        Pairs by half, kind, language and label; the sets that have none; the versions of the Debian packages
        that were read, which are those of this machine's release.
    """
    unknown = set(kinds or []) - KINDS.keys()
    if unknown:
        raise InputError(f"--kinds {min(unknown)}: there are {', '.join(KINDS)}")
    packages = cache or out / "packages"
    counts: Counter[str] = Counter()
    left_out: list[str] = []
    for kind in kinds or KINDS:
        for source in KINDS[kind]:
            writer = LabelledWriter(out / source.half / f"{kind}-{source.title}", source.origin, source.language)
            try:
                source.fill(writer, packages)
            except InputError as error:
                print(f"{writer.folder.name}: left out: {error}", file=sys.stderr)
                continue
            if not writer.pairs:
                left_out.append(f"{writer.folder.name}: no pairs")
                continue
            writer.write()
            _count(writer, kind, counts)
            print(f"{writer.folder.parent.name}/{writer.folder.name}: {_labels(writer)}", file=sys.stderr)
    debian = {each.name: version_of(each.name, packages) for each in sorted((packages / "debian").glob("*"))}
    return {"pairs": dict(counts), "left_out": left_out, "debian": debian}


def _count(writer: LabelledWriter, kind: str, counts: Counter[str]) -> None:
    half = writer.folder.parent.name
    for pair in writer.pairs.values():
        counts[f"{half} {kind} {writer.language} {pair['label']}"] += 1


def _labels(writer: LabelledWriter) -> str:
    labels = Counter(f"{pair['kind']} {pair['label']}" for pair in writer.pairs.values())
    return ", ".join(f"{name}: {count}" for name, count in sorted(labels.items()))
