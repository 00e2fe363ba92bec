"""Whatever is seen in whatever order, a deduplicator decides as the rules say, and forgets what no longer holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dedup.rules.decisions import Decision
from dedup.rules.documents import Document
from dedup.rules.settings import Mode
from dedup.signature.signature import digest
from dedup.store.cancelling import cancel_run
from tests.databases import left_in
from tests.deciding import Crawl, empty, few_examples, signature_of
from tests.store.model import Expected, Model
from tests.texts import all_pairs, document, edited, extended, filled_in, form

TEXT, FORM = document(300, "text"), form(400, 25, "form")
# Of each chain the second is near the first and the third near the second, which is like the first, or no longer.
LIKE, UNLIKE = [document(400, 5)], [document(400, 1)]
for name in ("member", "third"):
    LIKE.append(extended(LIKE[-1], 26, f"{name} 5"))
    UNLIKE.append(extended(UNLIKE[-1], 32, f"{name} 1"))
UNLIKE.append(extended(UNLIKE[-1], 32, "cousin 2"))
FAMILIES = [
    [TEXT, edited(TEXT, 5), edited(TEXT, 20, 1), edited(edited(TEXT, 20, 1), 20, 2)],
    [document(40), edited(document(40), 1), document(10), ""],
    ["", "...", document(10)],
    [FORM, filled_in(FORM), filled_in(edited(FORM, 10))],
    LIKE,
    UNLIKE,
]
PAPER_FAMILIES = [
    # Of near fingerprints.
    [TEXT, *(edited(TEXT, 1, seed) for seed in range(5))],
    [all_pairs(20, 1), all_pairs(20, 2), edited(TEXT, 40)],
    ["a b", "", "..."],
]


class Step(NamedTuple):
    """A document that is seen.

    Attributes:
        key: its key.
        text: its text.
        body: which of the two pages with that text it is; None: nobody knows its bytes.
        is_known: whether only its bytes are given.
        is_gone: instead it is said to be gone.
    """

    key: str
    text: str
    body: int | None
    is_known: bool
    is_gone: bool


def history(families: list[list[str]], seed: int, length: int) -> list[Step]:
    """Return what is seen: texts of one family, and one of any other, under few keys, so that much comes again."""
    random = Random(seed)
    texts = [*random.choice(families), random.choice(random.choice(families))]
    last: dict[str, str] = {}
    steps = []
    for _ in range(length):
        key = random.choice("abcd")
        last[key] = last[key] if key in last and random.random() < 0.3 else random.choice(texts)
        body = random.choice([0, 0, 1, None])
        steps.append(Step(key, last[key], body, is_known=random.random() < 0.2, is_gone=random.random() < 0.05))
    return steps


def told(decision: Decision | None) -> Expected | None:
    if decision is None:
        return None
    values = {**vars(decision), **asdict(decision.details)}
    return Expected(*(values[name] for name in Expected._fields))


def page(text: str, number: int) -> bytes:
    return digest(f"{number} {text}".encode())


def assert_decided_as_by_the_model(crawl: Crawl, seen: list[Step]) -> None:
    model, deduplicator = Model(crawl.settings), crawl.deduplicator
    texts = {step.text for step in seen}
    pages = [page(text, number) for text in texts for number in range(2)]
    for number, step in enumerate(seen):
        if step.is_gone:
            deduplicator.forget([step.key])
            model.forget(step.key)
        else:
            body = None if step.body is None else page(step.text, step.body)
            signature = None if step.is_known else signature_of(step.text)
            shown = Document(step.key, signature, len(step.text), body)
            [decision] = deduplicator.decide([shown], crawl.run)
            assert told(decision) == model.decide(shown), f"step {number}"
            assert decision is None or decision.details.text_bytes == len(step.text)
        assert deduplicator.stored_bodies(pages) == model.bodies, f"step {number}"
        assert {key for _, key in deduplicator.find_undecided(0, 100, None)} == model.undecided, f"step {number}"
    for text in texts:
        stranger = Document("stranger", signature_of(text))
        assert told(deduplicator.find(stranger, crawl.run)) == model.find(stranger)


def law(crawl: Crawl, families: list[list[str]]) -> None:
    # To explain a failure, hypothesis would take longer than to find it.
    phases = Phase.explicit, Phase.generate, Phase.shrink

    @settings(phases=phases, max_examples=few_examples(crawl.database))
    @given(st.integers(0, 2**32), st.integers(20, 60))
    def holds(seed: int, length: int) -> None:
        empty(crawl)
        assert_decided_as_by_the_model(crawl, history(families, seed, length))
        crawl.assert_consistent()
        cancel_run(crawl.database, "test", force=True)
        assert left_in(crawl.database) == {}

    holds()


@pytest.mark.slow
def test_documents_are_decided_by_the_rules(crawl: Crawl) -> None:
    law(crawl, FAMILIES)


@pytest.mark.slow
def test_in_paper_mode_they_are_decided_by_its_rule(start: Callable[..., Crawl]) -> None:
    law(start(mode=Mode.PAPER), PAPER_FAMILIES)
