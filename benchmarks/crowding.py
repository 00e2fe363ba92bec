"""How fingerprints of unrelated texts crowd, and how well they alone tell copies from others, by scheme."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import SCHEMES
from dedup.evaluation import LabelledDocument, LabelledSet, analyse_documents, read_set
from dedup.readers.documents import CorpusDocument
from dedup.readers.portions import read_documents
from dedup.signature.analysis import sign_texts
from dedup.signature.schemes import DEFAULT
from dedup.signature.schemes import SCHEMES as OWN
from dedup.signature.signature import BITS, Texts

_STRETCHES = (16, 20, 26)
_STARTS = 8
_NEAR, _COPIED, _APART = 16, 3, 10
_LEAST_UNRELATED, _LEAST_LABELLED = 64, 20


class _Sample(NamedTuple):
    """The texts of a set, which of them are unrelated, and the labelled pairs of them, by places."""

    name: str
    texts: Texts
    unrelated: NDArray[np.int64]
    pairs: NDArray[np.int64]
    are_copies: NDArray[np.bool_]


def run(*, data: list[Path], scheme: list[str] | None = None) -> list[dict[str, Any]]:
    """Make the fingerprints of texts and print how they crowd; where pairs are labelled, how they separate.

    Args:
        data: labelled sets, of which one text of each cluster counts as unrelated; or files and folders, as `dedup
            files` reads them, of which every text does.
        scheme: the schemes, by names of this library or of `benchmarks.published`; by default the usual one.

    Returns:
        The figures.

    Raises:
        DedupError: there is nothing to read.
        ValueError: there is no such scheme, or there are too few texts.
    """
    schemes = scheme or ["words"]
    known = [*OWN, *SCHEMES]
    for each in schemes:
        if each not in known:
            raise ValueError(f"--scheme {each}: expected {', '.join(known)}")
    figures = []
    for folder in data:
        sample = _sample_of(_read(folder))
        if len(sample.unrelated) < 2:
            raise ValueError(f"{folder}: fewer than two unrelated texts of at least {_LEAST_UNRELATED} tokens")
        figures.append(_measure(sample, schemes))
        print(_table(figures[-1]), flush=True)
    return figures


def crowding(fingerprints: NDArray[np.uint64], bits: int) -> float:
    """Return how many times as often as by chance two fingerprints share a stretch of their bits.

    By chance they share one of w bits with probability 2^-w. The mean over the stretches that start at the topmost
    bit, and at every (64 - w) // 8 bits from there as long as they end in the fingerprint: 9 of 16 or 20 bits, 10 of
    26. They overlap, so that no single place decides.

    Args:
        fingerprints: shape (n,), of 64 bits; at least two.
        bits: w.
    """
    starts = range(0, BITS - bits + 1, (BITS - bits) // _STARTS)
    mask = np.uint64((1 << bits) - 1)
    shared = [_pairs_sharing((fingerprints >> np.uint64(BITS - bits - start)) & mask) for start in starts]
    return float(np.mean(shared) / _pairs_of(len(fingerprints)) * 2**bits)


def distances(fingerprints: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many pairs of fingerprints are at each distance, shape (65,)."""
    counts = np.zeros(BITS + 1, np.int64)
    for place in range(1, len(fingerprints)):
        differing = np.bitwise_count(fingerprints[:place] ^ fingerprints[place])
        counts += np.bincount(differing, minlength=BITS + 1)
    return counts


def best_radius(apart: NDArray[np.int64], are_copies: NDArray[np.bool_]) -> tuple[float, int]:
    """Return the best F1 that pairs have if they are copies within a radius, and the smallest such radius."""
    scores = []
    for radius in range(BITS + 1):
        found = apart <= radius
        scores.append(2 * int((found & are_copies).sum()) / max(1, int(found.sum() + are_copies.sum())))
    best = max(scores)
    return best, scores.index(best)


def _read(path: Path) -> LabelledSet:
    if (path / "docs.jsonl").exists():
        return read_set(path)
    found = [each for each in read_documents([path]) if isinstance(each, CorpusDocument)]
    # By places: keys may be there twice.
    named = {str(place): LabelledDocument(each.text, each.html, str(place)) for place, each in enumerate(found)}
    return LabelledSet(path.resolve().name, named, [])


def _sample_of(labelled: LabelledSet) -> _Sample:
    [analysed] = analyse_documents([labelled], DEFAULT)
    places = {name: place for place, name in enumerate(analysed)}
    tokens = {name: each.signature.sketch.tokens for name, each in analysed.items()}
    firsts: dict[str, int] = {}
    for name, document in labelled.documents.items():
        if tokens[name] >= _LEAST_UNRELATED:
            firsts.setdefault(document.cluster, places[name])
    pairs = [each for each in labelled.pairs if min(tokens[each.a], tokens[each.b]) >= _LEAST_LABELLED]
    return _Sample(
        labelled.name,
        Texts.of([each.text for each in analysed.values()]),
        np.array(list(firsts.values()), np.int64),
        np.array([(places[each.a], places[each.b]) for each in pairs], np.int64).reshape(-1, 2),
        np.array([each.is_duplicate for each in pairs], np.bool_),
    )


def _fingerprints(texts: Texts, name: str) -> NDArray[np.uint64]:
    if name in OWN:
        return sign_texts(texts, OWN[name]).rows["fingerprint"].astype(np.uint64)
    every = (texts.data[start:end].tobytes().decode() for start, end in pairwise(texts.offsets))
    return np.array([SCHEMES[name](text) for text in every], np.uint64)


def _measure(sample: _Sample, schemes: Sequence[str]) -> dict[str, Any]:
    rows = {}
    for scheme in schemes:
        fingerprints = _fingerprints(sample.texts, scheme)
        rows[scheme] = _crowds(fingerprints[sample.unrelated])
        if sample.are_copies.any() and not sample.are_copies.all():
            apart = np.bitwise_count(np.bitwise_xor(*fingerprints[sample.pairs].T)).astype(np.int64)
            rows[scheme] |= _separates(apart, sample.are_copies)
    copies = int(sample.are_copies.sum())
    return {
        "set": sample.name,
        "unrelated": len(sample.unrelated),
        "copies": copies,
        "others": len(sample.pairs) - copies,
        "schemes": rows,
    }


def _crowds(fingerprints: NDArray[np.uint64]) -> dict[str, Any]:
    counts = distances(fingerprints)
    return {
        "crowding": {bits: crowding(fingerprints, bits) for bits in _STRETCHES},
        "mean_distance": float(counts @ np.arange(BITS + 1) / counts.sum()),
        f"within_{_NEAR}": float(counts[: _NEAR + 1].sum() / counts.sum()),
    }


def _separates(apart: NDArray[np.int64], are_copies: NDArray[np.bool_]) -> dict[str, Any]:
    best, radius = best_radius(apart, are_copies)
    return {
        f"copies_within_{_COPIED}": float((apart[are_copies] <= _COPIED).mean()),
        "best_f1": best,
        "best_radius": radius,
        f"others_within_{_APART}": float((apart[~are_copies] <= _APART).mean()),
    }


def _pairs_of(count: int) -> int:
    return count * (count - 1) // 2


def _pairs_sharing(values: NDArray[np.uint64]) -> int:
    _, counts = np.unique(values, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _table(figures: dict[str, Any]) -> str:
    rows = figures["schemes"]
    width = max(len("scheme"), *map(len, rows))
    lines = [
        f"\n{figures['set']}: {figures['unrelated']:,} unrelated texts; shared stretches, times as often as by chance",
        f"{'scheme':{width}}"
        + "".join(f"{bits:>8} bits" for bits in _STRETCHES)
        + f"{'mean distance':>15}{f'within {_NEAR}':>12}",
    ]
    for name, each in rows.items():
        crowds = "".join(f"{each['crowding'][bits]:>13,.1f}" for bits in _STRETCHES)
        lines.append(f"{name:{width}}{crowds}{each['mean_distance']:>15.1f}{each[f'within_{_NEAR}']:>12.3%}")
    if not all("best_f1" in each for each in rows.values()):
        return "\n".join(lines)
    lines.append(f"{figures['copies']:,} labelled copies, {figures['others']:,} others, by the fingerprint alone")
    headings = ((f"copies within {_COPIED}", 18), ("best F1", 9), ("at radius", 11), (f"others within {_APART}", 18))
    lines.append(f"{'scheme':{width}}" + "".join(f"{heading:>{size}}" for heading, size in headings))
    lines += [
        f"{name:{width}}{each[f'copies_within_{_COPIED}']:>18.3f}{each['best_f1']:>9.3f}{each['best_radius']:>11}"
        f"{each[f'others_within_{_APART}']:>18.3f}"
        for name, each in rows.items()
    ]
    return "\n".join(lines)
