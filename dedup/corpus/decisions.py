"""Decisions as rows of an array: what is a copy, or similar to another document."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.corpus.parts import NULL, Parts
from dedup.rules.decisions import Decision, Details
from dedup.rules.documents import Match, Verdict
from dedup.rules.table import Rule
from dedup.rules.word_comparison import LostText

DECISION = np.dtype(
    [
        ("number", "<i8"),
        ("original", "<i8"),
        ("matched", "<i8"),
        ("second", "<i8"),
        ("similarity", "<f8"),
        ("lost_bytes", "<i8"),
        ("lost", "<i4"),
        ("places", "<i4"),
        ("distance", "u1"),
        ("verdict", "u1"),
        ("rule", "u1"),
    ]
)
"""A document that is a copy, or similar to one: its number; those of the leader of the cluster that it belongs to, or
resembles, of the member that it was found by, and of a second leader that it is a copy of, `NULL` if there is none;
verdict and rule by their places among all."""

_VERDICTS, _RULES = tuple(Verdict), tuple(Rule)
PLACE_OF_VERDICT = {verdict: place for place, verdict in enumerate(_VERDICTS)}
"""By a verdict its place among all."""
PLACE_OF_RULE = {rule: place for place, rule in enumerate(_RULES)}
"""By a rule its place among all."""
IS_DUPLICATE = np.array([verdict.is_duplicate for verdict in _VERDICTS])
"""Of each verdict by its place, whether it is that on a copy."""
EXACT = PLACE_OF_VERDICT[Verdict.EXACT_DUPLICATE]
"""The place of that verdict."""


def row_of(number: int, decision: Decision, match: Match) -> tuple[object, ...]:
    """Return a decision as a row of the type `DECISION`.

    Args:
        number: that of the document.
        decision: the decision on it.
        match: what it is a copy of, or resembles.
    """
    assert decision.rule is not None
    return (
        number,
        match.leader.id,
        match.member.id,
        NULL if match.second is None else match.second.id,
        decision.similarity,
        decision.details.lost.bytes,
        decision.lost,
        decision.details.lost.places,
        decision.details.distance,
        PLACE_OF_VERDICT[decision.verdict],
        PLACE_OF_RULE[decision.rule],
    )


def leaders_of(known: NDArray[np.int64], decided: NDArray[Any]) -> NDArray[np.int64]:
    """Return of each document the number of its leader, `NULL` where it leads itself.

    Args:
        known: the leaders of those that came with an index, `NULL` of all others.
        decided: of the type `DECISION`.
    """
    leaders = np.array(known)
    is_copy = IS_DUPLICATE[decided["verdict"]]
    leaders[decided["number"][is_copy]] = decided["original"][is_copy]
    return leaders


def decision_in(row: Any, parts: Parts) -> Decision:
    """Return the decision that a row of the type `DECISION` holds."""
    details = Details(
        matched=parts.key(row["matched"]),
        second=None if row["second"] == NULL else parts.key(row["second"]),
        distance=int(row["distance"]),
        lost=LostText(int(row["lost"]), int(row["lost_bytes"]), places=int(row["places"])),
        text_bytes=int(parts.rows["size"][row["number"]]),
    )
    return Decision.of(
        *(parts.key(row["number"]), _VERDICTS[row["verdict"]], details),
        original=parts.key(row["original"]),
        similarity=float(row["similarity"]),
        rule=_RULES[row["rule"]],
    )
