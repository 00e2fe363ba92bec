"""What the processes of `test_race` run; they import nothing else of the tests."""

from __future__ import annotations

from multiprocessing import Queue
from multiprocessing.synchronize import Barrier

from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.signature.signing import make_signature
from dedup.store.deduplicator import Deduplicator
from tests.texts import document, edited
from tests.waiting import HANG

WORDS = 100


def copies(pair: int) -> tuple[str, str]:
    """Return the two texts of a pair; every second pair is equal, the others nearly."""
    original = document(WORDS, f"pair {pair}")
    return original, edited(original, pair % 2, pair)


def decide_copies(
    settings: DedupSettings,
    side: int,
    pairs: int,
    at_once: int,
    barrier: Barrier,
    results: Queue[tuple[str, tuple[str, str | None]]],
) -> None:
    """Decide one copy of each pair, so many at once, each batch at the same moment as the other process."""
    documents = [Document(f"{pair}/{side}", make_signature(copies(pair)[side])) for pair in range(pairs)]
    barrier.wait(HANG)
    deduplicator = Deduplicator(settings)
    run = deduplicator.open_run("race")
    for start in range(0, pairs, at_once):
        batch = documents[start : start + at_once]
        barrier.wait(HANG)
        for seen, decision in zip(batch, deduplicator.decide(batch, run), strict=True):
            assert decision is not None
            results.put((seen.key, (decision.verdict.value, decision.original)))
    deduplicator.close()
