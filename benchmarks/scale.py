"""What a plan for 1e8 documents and more needs: what a compared pair costs, and which copies no look-up finds there."""

# Compiled functions take nothing by name.

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dedup.corpus.candidates.candidates import MOST_COMPARED, Candidates
from dedup.corpus.candidates.probing import Probes, brought, probes_of
from dedup.index.memory.flips import Flips
from dedup.index.memory.index import MemoryIndex
from numpy.typing import NDArray

from benchmarks.crowds import Crowd
from benchmarks.edited_texts import EDITS, Texts, real_texts
from dedup.compiled import compiled
from dedup.compiled.bits import ones, signed
from dedup.rules.settings import RuleSettings
from dedup.rules.verification import plan_of
from dedup.signature.signature import Signature, make_signature

RADII = (16, 12, 8, 3)
SIZES = (10**5, 10**6, 10**7, 10**8, 10**9, 10**10)
_COMPARED = (100_000, 200_000, MOST_COMPARED)
_PART = 1 << 16
_INDEXED = (MOST_COMPARED, 1_000_000, 10_000_000)
# A copy whose fate hangs on fewer fingerprints than two of those that were drawn is not told of.
_MOST_TIMES = 100


class Copies(NamedTuple):
    """Edited copies, and what they are copies of.

    Attributes:
        fingerprints: those of the copies, shape (q,).
        margins: theirs, shape (q, 64).
        originals: the fingerprints of the originals, shape (q,).
    """

    fingerprints: NDArray[np.uint64]
    margins: NDArray[np.int64]
    originals: NDArray[np.uint64]

    @classmethod
    def of(cls, texts: Texts, count: int) -> Copies:
        """Make them, the edits in turn."""
        copies = [make_signature(texts.copy(number, EDITS[number % len(EDITS)])) for number in range(count)]
        originals = [make_signature(texts.text(number)) for number in range(count)]
        margins = np.stack([copy.margins for copy in copies]).astype(np.int64)
        return cls(_fingerprints_of(copies), margins, _fingerprints_of(originals))


def run(*, data: Path, n: int = 10_000_000, copies: int = 500) -> dict[str, Any]:
    """Time look-ups among crowded and random fingerprints, and count what comes before copies; project that to 1e9.

    Args:
        data: a labelled set, whose texts the others are made of.
        n: how many fingerprints are drawn, each compared with each copy; at 1e7 it takes some minutes and 1 GB.
        copies: how many edited copies are looked up.

    Returns:
        The figures.

    Raises:
        InputError: the folder holds no labelled set.
        ValueError: there is nothing to measure.
    """
    if n < _COMPARED[0] or copies < len(EDITS):
        raise ValueError(f"--n and --copies: expected at least {_COMPARED[0]:,} and {len(EDITS)}")
    texts = Texts(real_texts(data))
    crowd, asked = Crowd.of(texts), Copies.of(texts, copies)
    settings = RuleSettings()
    drawing = {"crowded": crowd.fingerprints, "random": _random}
    figures: dict[str, Any] = {"sources": texts.sources, "copies": copies, "n": n, "distances": _distances(asked)}
    print(f"{texts.sources} real texts, {copies} edited copies\n\n{_shown_distances(figures['distances'])}")
    for name, draw in drawing.items():
        drawn = np.concatenate([draw(start // _PART, min(_PART, n - start)) for start in range(0, n, _PART)])
        figures[name] = {
            "ns_a_pair": {str(size): _scan(settings, drawn[:size], asked) for size in _COMPARED if size <= n},
            "index_ms": {
                str(radius): {
                    str(size): _index(replace(settings, radius=radius), drawn[:size], asked)
                    for size in _INDEXED
                    if size <= n
                }
                for radius in RADII
            },
            **_project(settings, drawn, asked),
        }
        print(f"\n{name}\n{_shown(figures[name])}", flush=True)
    return figures


def _random(part: int, count: int) -> NDArray[np.uint64]:
    return np.random.default_rng(part).integers(0, 2**64, count, dtype=np.uint64)


def _scan(settings: RuleSettings, drawn: NDArray[np.uint64], asked: Copies) -> float:
    """Return the ns of CPU that it takes to compare two documents."""
    stored = Candidates(settings, 1)
    stored.add_many(np.arange(len(drawn)), drawn)
    spent = _seconds(lambda: stored.find(asked.fingerprints, asked.margins, 0))
    stored.close()
    return 1e9 * spent / (len(drawn) * len(asked.fingerprints))


def _index(settings: RuleSettings, drawn: NDArray[np.uint64], asked: Copies) -> float:
    """Return the ms of CPU that a look-up in permuted tables takes."""
    index = MemoryIndex(plan_of(settings))
    index.add_many(np.arange(len(drawn)), drawn)
    find = index.query_many
    spent = _seconds(lambda: find(asked.fingerprints, asked.margins, settings.max_candidates))
    return 1e3 * spent / len(asked.fingerprints)


def _seconds(work: Callable[[], object]) -> float:
    """Return the seconds of CPU that it takes, the second time: the first one may compile."""
    work()
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _distances(asked: Copies) -> dict[str, dict[str, float]]:
    """Return by edit the share of copies within some radii of their originals."""
    distances = np.bitwise_count(asked.fingerprints ^ asked.originals)
    return {
        edit: {str(radius): float((distances[place :: len(EDITS)] <= radius).mean()) for radius in RADII}
        for place, edit in enumerate(EDITS)
    }


def _project(settings: RuleSettings, drawn: NDArray[np.uint64], asked: Copies) -> dict[str, Any]:
    """Count what comes before a copy's original, and say which originals are found among how many documents."""
    plan = plan_of(settings)
    flips = Flips.of(plan)
    probes = probes_of(asked.fingerprints, asked.margins, flips)
    counts, own = (np.zeros((len(asked.fingerprints), plan.radius + 1), np.int64) for _ in range(2))
    for start in range(0, len(drawn), _PART):
        _count(drawn[start : start + _PART], asked.fingerprints, probes, flips, counts)
    for query in range(len(own)):
        one = slice(query, query + 1)
        of_one = Probes(probes.values[one], probes.counts[one], probes.kept[one])
        _count(asked.originals[one], asked.fingerprints[one], of_one, flips, own[one])
    # Of those as far away as the original, half come before it.
    before = ((np.cumsum(counts, axis=1) - counts / 2) * own).sum(axis=1)
    sizes = [size for size in SIZES if size <= _MOST_TIMES * len(drawn)]
    times = {size: size / len(drawn) for size in sizes}
    found = {size: own.any(axis=1) & (before * times[size] < settings.max_candidates) for size in sizes}
    return {
        "brought": {str(size): float(counts.sum(axis=1).mean()) * times[size] for size in sizes},
        "found": {
            edit: {str(size): float(found[size][place :: len(EDITS)].mean()) for size in sizes}
            for place, edit in enumerate(EDITS)
        },
    }


@compiled
def _count(
    stored: NDArray[np.uint64],
    queries: NDArray[np.uint64],
    probes: Probes,
    flips: Flips,
    counts: NDArray[np.int64],
) -> None:
    """Add how many fingerprints the probes of each query bring from which distance, shape (q, radius + 1)."""
    exact = flips.starts[1:] - flips.starts[:-1]
    exact_ends = (flips.exact_bits + 1).astype(np.uint64)
    radius, places = counts.shape[1] - 1, np.empty(len(stored), np.int64)
    for number in range(len(queries)):
        query, of_query = queries[number], counts[number]
        values, lengths, kept = probes.values[number], probes.counts[number], probes.kept[number]
        near = 0
        for place in range(len(stored)):
            places[near] = place
            near += signed(ones(stored[place] ^ query)) <= radius
        found = brought(stored, places[:near], query, values, lengths, kept, exact, exact_ends)
        for place in places[:found]:
            of_query[signed(ones(stored[place] ^ query))] += 1


def _fingerprints_of(signatures: list[Signature]) -> NDArray[np.uint64]:
    return np.array([signature.fingerprint for signature in signatures], np.uint64)


def _shown_distances(distances: dict[str, dict[str, float]]) -> str:
    rows = [f"copies within bits     {''.join(f'{radius:>9}' for radius in RADII)}"]
    rows += [
        f"  {edit:21}{''.join(f'{share:9.2f}' for share in shares.values())}" for edit, shares in distances.items()
    ]
    return "\n".join(rows)


def _shown(figures: dict[str, Any]) -> str:
    rows = [f"a pair compared, ns    {_row(figures['ns_a_pair'])}"]
    rows += [f"a look-up, ms, radius {radius:2}{_row(sizes)}" for radius, sizes in figures["index_ms"].items()]
    rows += [f"brought by probes      {_row(figures['brought'])}"]
    rows += [f"found: {edit:17}{_row(sizes)}" for edit, sizes in figures["found"].items()]
    return "\n".join(rows)


def _row(by_size: dict[str, float]) -> str:
    return "".join(f"  {float(size):.0e}: {value:<9,.3g}" for size, value in by_size.items())
