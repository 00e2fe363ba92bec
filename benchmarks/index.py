"""The index in memory beside other indexes and the limits of the machine, in one run on one core."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import index_peers
from benchmarks.index_growth import LEAST_SECONDS, grow, single_rate, skew
from benchmarks.index_peers import Peer
from benchmarks.index_process import PLAN, SEED
from benchmarks.index_scan import compare_all
from dedup.index.memory.index import MemoryIndex

_BATCH = 1_000_000
_CHECKED = 400
_KEYS = 100_000
_FARTHEST = 5
_TILE = 16_384
_OWN = "dedup MemoryIndex"

# Up to how many fingerprints a peer is measured: what it takes in time and memory grows with them.
_PEERS: list[tuple[Callable[[NDArray[np.uint64]], Peer], float]] = [
    (index_peers.gaoya, 1e7),
    (index_peers.multi_hash, 1e7),
    (index_peers.flat, 1e7),
    (index_peers.pypi_simhash, 1e6),
    (index_peers.numpy_tables, 1e7),
]


def run(*, n: int = 1_000_000, rounds: int = 3) -> dict[str, Any]:
    """Measure everything in turn, several times, and print rates and ratios.

    Args:
        n: how many random fingerprints; about 60 bytes each are needed, 900 with the peers.
        rounds: how often rates are measured.

    Returns:
        The figures; it has failed if an answer was wrong.

    Raises:
        ValueError: there is nothing to measure.
    """
    if n < 1000 or not 1 <= rounds < _BATCH // _KEYS:
        raise ValueError("--n and --rounds: expected at least 1,000 fingerprints, and 1 to 9 rounds")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bench.idx"
        figures: dict[str, Any] = {"n": n, "rounds": rounds, **_in_process("build", n, path)}
        first = int(np.random.default_rng(SEED).integers(0, 2**64, 1, dtype=np.uint64)[0])
        figures |= _in_process("open", path, first)
    print(
        f"{n:,} fingerprints, radius 3, one core\n"
        f"tables built in    {figures['build_by_sort']:.2f} of the time of one np.sort of the same array\n"
        f"resident memory    {figures['resident_bytes_a_fingerprint']:.1f} bytes a fingerprint, compacted\n"
        f"saved, reopened    first answer after {figures['open_and_first_query_seconds']:.3f} s"
    )
    generator = np.random.default_rng(SEED)
    fingerprints = generator.integers(0, 2**64, n, dtype=np.uint64)
    queries, planted = _queries(generator, fingerprints)
    index = MemoryIndex(PLAN)
    index.add_many(np.arange(n), fingerprints)
    checked = _check(index, fingerprints, queries, planted)
    figures |= checked
    figures |= _brute_force(index, fingerprints, queries)
    peers = {_OWN: _own(index)}
    for make, most in _PEERS:
        if n <= most:
            with index_peers.resident() as grown:
                peer = make(fingerprints)
            peers[peer.name] = peer
            figures.setdefault("peer_bytes_a_fingerprint", {})[peer.name] = grown[0] / n
    figures["rates"] = _rates(peers, n, queries, rounds)
    figures["growth"] = grow(index, generator, n)
    figures["skew"] = skew(generator, min(n, 1_000_000))
    print(_table(figures))
    figures["failed"] = bool(checked["wrong"] or figures["first_answer_wrong"])
    if figures["failed"]:
        print("WRONG answers, see above", file=sys.stderr)
    return figures


def _in_process(what: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.index_process", what, *map(str, arguments)]
    figures: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if what == "open":
        figures["first_answer_wrong"] = figures.pop("found") < 1
    return figures


def _queries(
    generator: np.random.Generator, fingerprints: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return random queries, every fifth one near a stored fingerprint, and at what distance it was planted (or -1)."""
    queries = generator.integers(0, 2**64, _BATCH, dtype=np.uint64)
    near = np.arange(0, _BATCH, 5)
    distances = np.full(_BATCH, -1)
    distances[near] = np.arange(len(near)) % (_FARTHEST + 1)
    flips = np.argsort(generator.random((len(near), 64)), axis=1)[:, :_FARTHEST].astype(np.uint64)
    queries[near] = fingerprints[generator.integers(0, len(fingerprints), len(near))]
    for place in range(_FARTHEST):
        queries[near] ^= np.where(distances[near] > place, np.left_shift(np.uint64(1), flips[:, place]), np.uint64(0))
    return queries, distances


def _check(
    index: MemoryIndex, fingerprints: NDArray[np.uint64], queries: NDArray[np.uint64], planted: NDArray[np.int64]
) -> dict[str, Any]:
    """Compare single and batch look-ups with brute force, and count what was found at each distance."""
    asked = np.flatnonzero(planted >= 0)[:_CHECKED]
    wanted = compare_all(fingerprints, queries[asked], np.uint64(PLAN.radius))
    pairs = set(zip((wanted >> 32).tolist(), (wanted & 0xFFFFFFFF).tolist(), strict=True))
    finds = index.query_many(queries)
    place = {int(query): number for number, query in enumerate(asked)}
    chosen = np.isin(finds.queries, asked)
    batch = {
        (place[query], document)
        for query, document in zip(finds.queries[chosen].tolist(), finds.document_ids[chosen].tolist(), strict=True)
    }
    single = {(i, each.document_id) for i, query in enumerate(queries[asked].tolist()) for each in index.query(query)}
    recall = {}
    for distance in range(PLAN.radius + 1):
        at = {pair for pair in pairs if _distance(queries[asked[pair[0]]], fingerprints[pair[1]]) == distance}
        recall[distance] = len(at & batch & single) / len(at) if at else 1.0
    wrong = len((pairs ^ batch) | (pairs ^ single))
    print(f"answers            {len(pairs):,} of {len(asked):,} queries by brute force, {wrong} differ")
    return {"checked_queries": len(asked), "wrong": wrong, "recall_by_distance": recall}


def _distance(a: np.uint64, b: np.uint64) -> int:
    return (int(a) ^ int(b)).bit_count()


def _brute_force(index: MemoryIndex, fingerprints: NDArray[np.uint64], queries: NDArray[np.uint64]) -> dict[str, Any]:
    """Compare the batch with brute force by the widest instructions that the machine has.

    Some fingerprints at a time are compared with all queries, so that they are read from the cache.
    """
    scanned = max(100, min(2000, 40_000_000_000 // len(fingerprints)))
    radius = np.uint64(PLAN.radius)

    def scan() -> None:
        for start in range(0, len(fingerprints), _TILE):
            compare_all(fingerprints[start : start + _TILE], queries[:scanned], radius)

    by_scan = min(_seconds(scan) for _ in range(3)) / scanned
    by_index = min(_seconds(lambda: index.query_many(queries)) for _ in range(5)) / len(queries)
    return {
        "scanned_queries": scanned,
        "scan_seconds_a_query": by_scan,
        "scan_fingerprints_a_second": len(fingerprints) / by_scan,
        "batch_queries_a_second": 1 / by_index,
        "batch_by_scan": by_scan / by_index,
    }


def _own(index: MemoryIndex) -> Peer:
    return Peer(_OWN, index.query, index.add, index.query_many, lambda value: value)


def _rates(
    peers: dict[str, Peer], n: int, queries: NDArray[np.uint64], rounds: int
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return for each kind of work and peer the rate, and how many times as fast this library is, by rounds in turn."""
    kinds: dict[str, dict[str, list[float]]] = {"single": {}, "batch": {}, "query and insert": {}}
    values = queries.tolist()
    keys = {name: [peer.key(value) for value in values[:_KEYS]] for name, peer in peers.items()}
    for _ in range(rounds):
        for name, peer in peers.items():
            if peer.query is not None:
                kinds["single"].setdefault(name, []).append(single_rate(peer.query, keys[name]))
            if peer.batch is not None:
                kinds["batch"].setdefault(name, []).append(_batch_rate(peer.batch, queries))
    fresh = n
    for number in range(rounds):
        # What is inserted is not what is asked for: it would be found in the next round.
        others = values[_KEYS * (number + 1) :][:_KEYS]
        for name, peer in peers.items():
            if peer.query is not None and peer.insert is not None:
                other_keys = [peer.key(value) for value in others]
                rate, fresh = _both_rate(peer.query, peer.insert, keys[name], other_keys, fresh)
                kinds["query and insert"].setdefault(name, []).append(rate)
    return {
        kind: {
            name: {
                "per_second": median(each),
                "ours_by_it": median(ours / other for ours, other in zip(measured[_OWN], each, strict=True)),
            }
            for name, each in measured.items()
        }
        for kind, measured in kinds.items()
    }


def _batch_rate(batch: Callable[[NDArray[np.uint64]], object], queries: NDArray[np.uint64]) -> float:
    size, seconds = 250, 0.0
    while seconds < LEAST_SECONDS / 2 and size < len(queries):
        size = min(len(queries), 4 * size)
        started = time.process_time()
        batch(queries[:size])
        seconds = time.process_time() - started
    return size / seconds


def _both_rate(
    query: Callable[[Any], object], insert: Callable[[int, Any], object], keys: list[Any], others: list[Any], fresh: int
) -> tuple[float, int]:
    """Look one up and insert another, in turn; return how often a second, and the next number of a document."""
    done, started = 0, time.process_time()
    while done < len(others) and time.process_time() - started < LEAST_SECONDS:
        for key, other in zip(keys[done : done + 200], others[done : done + 200], strict=True):
            query(key)
            insert(fresh, other)
            fresh += 1
        done += 200
    return done / (time.process_time() - started), fresh


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _table(figures: dict[str, Any]) -> str:
    growth = figures["growth"]
    batch = (
        f"batch              {figures['batch_queries_a_second']:,.0f} queries a second, "
        f"{figures['batch_by_scan']:,.0f} times as fast as brute force "
        f"(extrapolated from {figures['scanned_queries']:,} queries)"
    )
    grown = (
        f"growth             {growth['added_a_second']:,.0f} additions a second, "
        f"the longest {growth['longest_add_ms']:.1f} ms"
    )
    lines = [batch, grown]
    for kind, rates in figures["rates"].items():
        lines.append(f"\n{kind:24}  {'a second':>12}  {'ours by it':>10}")
        lines += [
            f"{name:24}  {each['per_second']:>12,.0f}  {each['ours_by_it']:>10,.1f}" for name, each in rates.items()
        ]
    lines.append(f"\n{'30% have in common':24}  {'single/s':>12}  {'bytes':>10}  crowds reported")
    lines += [
        f"{name:24}  {each['single_per_second']:>12,.0f}  {each['bytes_a_document']:>10.1f}  {each['crowds']}"
        for name, each in figures["skew"].items()
    ]
    return "\n".join(lines)
