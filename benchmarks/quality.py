"""Labelled pairs decided by this library and by its peers in one run: precision, recall, F1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks import suite
from benchmarks.peers import minhash_of_words, peers
from dedup.errors import InputError
from dedup.evaluation import (
    AnalysedDocument,
    Method,
    Pipeline,
    Quality,
    SetResult,
    analyse_documents,
    as_object,
    comparison,
    pool_results,
    read_set,
    run_method,
)
from dedup.rules.settings import Caution, DedupSettings, RuleSettings
from dedup.rules.two_texts import PairDecider
from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.schemes import DEFAULT
from dedup.signature.signing import tokenise

_NAME_WIDTH = 34
_THRESHOLDS = np.arange(0.4, 1.0, 0.05).round(2).tolist()
_NAMED = {"MinHash 128": (0.6, 0.7, 0.8), "exact Jaccard": (0.55, 0.7)}
_COLOURS = {"dedup": "#1b6ca8", "MinHash 128": "#c8553d", "exact Jaccard": "#588157"}
# Of the names, in points: two methods have nearly the same points.
_OFFSETS = {"dedup": (4, 7), "MinHash 128": (-34, -11), "exact Jaccard": (6, 4)}

Pair = tuple[AnalysedDocument, AnalysedDocument]


def run(*, data: list[Path]) -> list[dict[str, Any]]:
    """Decide the pairs of labelled sets by all methods and print how well they did.

    Args:
        data: labelled sets, or folders of them.

    Returns:
        The figures.

    Raises:
        InputError: a folder holds no labelled set, or one that is not what it should be.
    """
    settings = DedupSettings()
    methods: list[Method] = [Pipeline("dedup", settings), *peers()]
    sets = [read_set(folder) for folder in sets_in(data)]
    documents = analyse_documents(sets, methods[0].scheme)
    results = {
        method.name: [run_method(method, *each) for each in zip(sets, documents, strict=True)] for method in methods
    }
    pooled = {name: pool_results(each) for name, each in results.items()}
    print(comparison(list(pooled.items())))
    print(f"\n{_by_set(results)}")
    return [
        {"method": name, "sets": as_object(each), "all": as_object([pooled[name]])[0]} for name, each in results.items()
    ]


def sets_in(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the labelled sets that some folders are or hold."""
    for folder in folders:
        found = suite.sets_in(folder)
        if not found:
            raise InputError(f"{folder}: neither a labelled set (docs.jsonl, pairs.jsonl) nor a folder of such sets")
        yield from found


def _by_set(results: dict[str, list[SetResult]]) -> str:
    names = [result.name for result in next(iter(results.values()))]
    rows = [("recall, wrong", names), *((name, [_cell(each) for each in own]) for name, own in results.items())]
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(len(names))]
    return "\n".join(
        f"{head:{_NAME_WIDTH}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for head, cells in rows
    )


def _cell(result: SetResult) -> str:
    quality = result.quality
    has_duplicates = quality.true_positives + quality.false_negatives > 0
    return f"{quality.recall:.4f}, {quality.false_positives:,}" if has_duplicates else f"-, {quality.false_positives:,}"


class Point(NamedTuple):
    """How well a method does with one setting: its name, what it is set to, and the counts."""

    method: str
    setting: str
    quality: Quality


def curve(*, data: list[Path], output: Path | None = None) -> dict[str, Any]:
    """Precision against recall on labelled sets: this library by its cautions, MinHash and exact Jaccard by thresholds.

    Args:
        data: labelled sets, or folders of them.
        output: the name of the picture to draw, .svg or .png; none if left out.

    Returns:
        The figures: precision, recall, F1, wrong and missed pairs of each point; those of the cautions by kind too.

    Raises:
        InputError: a folder holds no labelled set, or one that is not what it should be.
    """
    sets = [read_set(folder) for folder in sets_in(data)]
    documents = analyse_documents(sets, DEFAULT)
    pairs: list[Pair] = []
    labels: list[bool] = []
    kinds: list[str] = []
    for labelled, own in zip(sets, documents, strict=True):
        for pair in labelled.pairs:
            pairs.append((own[pair.a], own[pair.b]))
            labels.append(pair.is_duplicate)
            # The sets of one kind begin with its name, such as versions-en-flask.
            kinds.append(labelled.name.partition("-")[0])
    wanted, kind = np.array(labels), np.array(kinds)
    cautions = {caution: _decided(pairs, RuleSettings(caution=caution)) for caution in Caution}
    points = [Point("dedup", caution.value, _quality_of(wanted, found)) for caution, found in cautions.items()]
    named = list(points)
    points += [
        Point("dedup", f"min_jaccard {each}", _quality_of(wanted, _decided(pairs, RuleSettings(min_jaccard=each))))
        for each in _THRESHOLDS
        if each > RuleSettings().min_jaccard
    ]
    for name, measure in (("MinHash 128", _minhash), ("exact Jaccard", _exact)):
        values = np.array([measure(a.text, b.text) for a, b in pairs])
        for threshold in sorted({*_THRESHOLDS, *_NAMED[name]}):
            points.append(Point(name, f">= {threshold:g}", _quality_of(wanted, values >= threshold)))
            if threshold in _NAMED[name]:
                named.append(points[-1])
    print("\n".join(_quality_table([(f"{each.method}, {each.setting}", each.quality) for each in named])))
    by_kind = {
        caution.value: {each: _quality_of(wanted[kind == each], found[kind == each]) for each in sorted(set(kinds))}
        for caution, found in cautions.items()
    }
    print()
    print(
        "\n".join(
            _quality_table([(f"{c}, {k}", quality) for c, each in by_kind.items() for k, quality in each.items()])
        )
    )
    if output is not None:
        _draw(points, output)
    return {
        "points": [{"method": each.method, "setting": each.setting, **_figures(each.quality)} for each in points],
        "kinds": {c: {k: _figures(quality) for k, quality in each.items()} for c, each in by_kind.items()},
    }


def _decided(pairs: Sequence[Pair], settings: RuleSettings) -> NDArray[np.bool_]:
    decider = PairDecider(settings)
    return np.array([decider.decide(a.signature, b.signature).is_duplicate for a, b in pairs], np.bool_)


def _minhash(a: str, b: str) -> float:
    return float(minhash_of_words(a).jaccard(minhash_of_words(b)))


def _exact(a: str, b: str) -> float:
    ours, theirs = (shingles_of(list(tokenise(each).words())) for each in (a, b))
    return jaccard(ours, theirs)


def _quality_of(wanted: NDArray[np.bool_], found: NDArray[np.bool_]) -> Quality:
    return Quality.of(zip(wanted.tolist(), found.tolist(), strict=True))


def _figures(quality: Quality) -> dict[str, float]:
    return {
        "precision": quality.precision,
        "recall": quality.recall,
        "f1": quality.f1,
        "wrong": quality.false_positives,
        "missed": quality.false_negatives,
    }


def _quality_table(rows: Sequence[tuple[str, Quality]]) -> Iterator[str]:
    yield f"{'':28}{'precision':>10}{'recall':>8}{'F1':>8}{'wrong':>7}{'missed':>8}"
    for name, each in rows:
        yield (
            f"{name:28}{each.precision:10.3f}{each.recall:8.3f}{each.f1:8.3f}"
            f"{each.false_positives:7,}{each.false_negatives:8,}"
        )


def _draw(points: Sequence[Point], output: Path) -> None:
    mpl.rcParams.update({"svg.hashsalt": "curve", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for method, colour in _COLOURS.items():
        line = [each for each in points if each.method == method and each.setting not in list(Caution)]
        axes.plot(
            [each.quality.recall for each in line], [each.quality.precision for each in line], "-", color=colour, lw=1
        )
        marked = [each for each in points if each.method == method and _is_named(each)]
        axes.plot(
            [each.quality.recall for each in marked],
            [each.quality.precision for each in marked],
            "o",
            color=colour,
            label=method,
        )
        for each in marked:
            place = each.quality.recall, each.quality.precision
            axes.annotate(each.setting, place, _OFFSETS[method], textcoords="offset points", color=colour)
    axes.set_title("Precision against recall on the harder pairs, by setting")
    axes.set_xlabel("recall: copies that are dropped")
    axes.set_ylabel("precision: of what is dropped, copies")
    axes.legend(loc="lower left")
    axes.grid(alpha=0.3)
    # Without the date, so that the same figures give the same file.
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None)
    print(f"written {output}")


def _is_named(point: Point) -> bool:
    thresholds = {f">= {each:g}" for each in _NAMED.get(point.method, ())}
    return point.setting in list(Caution) or point.setting in thresholds
