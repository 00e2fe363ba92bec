"""The same documents in another order of arrival: what must hold each time, and what must not move."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select

from benchmarks.processes import scratch_folder
from dedup.evaluation import LabelledPair, Quality, analyse_documents, read_set
from dedup.rules.documents import DUPLICATES, Document, Rule, join_clusters
from dedup.rules.settings import DedupSettings
from dedup.rules.verification import check_documents, is_near_leader
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Signature, compare, digest
from dedup.store.deduplicator import Deduplicator
from dedup.store.schema import documents, verdicts

LARGEST_MOVE = 0.01
"""By how much pair precision and recall may move."""

_BATCH = 50
_NAMED = 5


class Decided(NamedTuple):
    """A duplicate, by keys: who leads its cluster, and whom it was found by."""

    key: str
    leader: str
    member: str


@dataclass(frozen=True)
class Arrival:
    """What came out of one order of arrival.

    Attributes:
        duplicates: all of them.
        clusters: the members of each cluster with more than one.
    """

    duplicates: list[Decided]
    clusters: list[frozenset[str]]


@dataclass
class Findings:
    """What all orders of arrival have shown.

    Attributes:
        precision: that of the labelled pairs, in each order.
        recall: likewise.
        duplicates: how many duplicates were looked at.
        unverified: those that were not verified as they should be.
    """

    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    duplicates: int = 0
    unverified: list[str] = field(default_factory=list)

    @property
    def differing(self) -> list[str]:
        """What does not hold, a line each."""
        lines = list(self.unverified)
        for name, values in (("precision", self.precision), ("recall", self.recall)):
            if max(values) - min(values) > LARGEST_MOVE:
                lines.append(f"{name} moves from {min(values):.4f} to {max(values):.4f}")
        return lines


def run(*, data: Path, shuffles: int = 20, seed: int = 1) -> dict[str, Any]:
    """Decide a labelled set in shuffled orders, each time in an empty SQLite database.

    Args:
        data: the labelled set, a folder with docs.jsonl and pairs.jsonl.
        shuffles: how many orders.
        seed: of the shuffling.

    Returns:
        The figures; it has failed if something does not hold.

    Raises:
        InputError: the folder holds no labelled set.
        ValueError: there is nothing to shuffle.
    """
    if shuffles < 1:
        raise ValueError(f"--shuffles {shuffles}: expected at least 1")
    labelled = read_set(data)
    settings = DedupSettings()
    [analysed] = analyse_documents([labelled], find_scheme(settings.scheme))
    arriving = {
        (key := _address(name)): Document(key, each.signature, each.signature.sketch.tokens)
        for name, each in analysed.items()
    }
    pairs = [LabelledPair(_address(each.a), _address(each.b), each.is_duplicate, each.kind) for each in labelled.pairs]
    findings = Findings()
    print("order  clusters  duplicates  precision  recall")
    for number, arrival in enumerate(arrivals(arriving, settings, shuffles, seed), 1):
        add(findings, arrival, arriving, pairs, settings)
        shown = f"{len(arrival.clusters):>8,}  {len(arrival.duplicates):>10,}"
        print(f"{number:>5}  {shown}  {findings.precision[-1]:>9.4f}  {findings.recall[-1]:>6.4f}", flush=True)
    print(f"\n{findings.duplicates:,} duplicates verified against member and leader")
    differing = findings.differing
    for line in differing[:_NAMED]:
        print(line)
    print("holds" if not differing else f"differs: {len(differing):,} findings, the first are above")
    return {
        "precision": findings.precision,
        "recall": findings.recall,
        "differs": differing,
        "failed": bool(differing),
    }


def arrivals(arriving: Mapping[str, Document], settings: DedupSettings, shuffles: int, seed: int) -> Iterator[Arrival]:
    """Decide documents in so many shuffled orders."""
    chance = random.Random(seed)
    keys = sorted(arriving)
    for _ in range(shuffles):
        chance.shuffle(keys)
        yield decide([arriving[key] for key in keys], settings)


def decide(arriving: Sequence[Document], settings: DedupSettings) -> Arrival:
    """Decide documents in this order in a database of their own."""
    with scratch_folder() as folder:
        deduplicator = Deduplicator(replace(settings, database_url=f"sqlite:///{folder}/order.db"))
        with closing(deduplicator.database):
            run_id = deduplicator.open_run("order")
            for start in range(0, len(arriving), _BATCH):
                deduplicator.decide(arriving[start : start + _BATCH], run_id)
            return _read(deduplicator)


def add(
    findings: Findings,
    arrival: Arrival,
    arriving: Mapping[str, Document],
    pairs: Iterable[LabelledPair],
    settings: DedupSettings,
) -> None:
    """Look at one order: verify every duplicate, measure the labelled pairs."""
    cluster_of = {member: number for number, members in enumerate(arrival.clusters) for member in members}
    quality = Quality.of(
        (pair.is_duplicate, pair.a in cluster_of and cluster_of[pair.a] == cluster_of.get(pair.b)) for pair in pairs
    )
    findings.precision.append(quality.precision)
    findings.recall.append(quality.recall)
    findings.duplicates += len(arrival.duplicates)
    findings.unverified += [line for each in arrival.duplicates if (line := _doubt(each, arriving, settings))]


def _doubt(decided: Decided, arriving: Mapping[str, Document], settings: DedupSettings) -> str | None:
    """Return what is wrong with a duplicate; None if it was verified as it should be."""
    own, leader, member = (arriving[key].signature for key in decided)
    assert own is not None
    assert member is not None
    assert leader is not None
    if own.text_digest != member.text_digest:
        rule = _check(own, member, settings)
        if not rule.is_duplicate:
            return f"{decided.key} is no duplicate of {decided.member}, by which it was found: {rule}"
        # Whoever has the text of a member belongs where that belongs.
        if not _belongs(own, leader, settings):
            return f"{decided.key} is too far from {decided.leader}, the leader of its cluster"
    elif not _belongs(member, leader, settings):
        return f"{decided.member} is too far from {decided.leader}, the leader of its cluster"
    return None


def _check(own: Signature, other: Signature, settings: DedupSettings) -> Rule:
    return check_documents(own.sketch, own.words, other.sketch, other.words, settings).rule


def _belongs(own: Signature, leader: Signature, settings: DedupSettings) -> bool:
    if own.text_digest == leader.text_digest:
        return True
    to_leader = compare(own.sketch, leader.sketch)
    # A text that was found by its leader need not belong to it more loosely: the check is stricter,
    # but for short texts, of which the words are compared.
    return is_near_leader(to_leader, settings) or _check(own, leader, settings).is_duplicate


def _read(deduplicator: Deduplicator) -> Arrival:
    with deduplicator.database.read() as connection:
        rows = {row.id: row for row in connection.execute(select(documents))}
        found = connection.execute(select(verdicts).where(verdicts.c.verdict.in_(DUPLICATES))).all()
        duplicates = [
            Decided(rows[row.document_id].key, rows[row.original_id].key, rows[row.matched_id].key) for row in found
        ]
    # As the report counts clusters.
    joined = join_clusters((row.original_id, row.second_id) for row in found if row.second_id is not None)
    members: dict[int, set[str]] = defaultdict(set)
    for row in rows.values():
        leader = row.leader_id or row.id
        members[joined.get(leader, leader)].add(row.key)
    return Arrival(duplicates, [frozenset(keys) for keys in members.values() if len(keys) > 1])


def _address(name: str) -> str:
    scheme = "https" if digest(name.encode())[0] % 2 else "http"
    return f"{scheme}://copies.example/{name}"
