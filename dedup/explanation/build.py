"""Two sides to an explanation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dedup.deduplicator import Verdict
from dedup.explanation.contents import Document, Exact, Explanation, Feature, Member, Probe
from dedup.explanation.sides import Origin, Side
from dedup.explanation.stored import Dropped
from dedup.explanation.words import diff_words
from dedup.fingerprint.hashes import murmur3
from dedup.fingerprint.normalise import normalise
from dedup.fingerprint.signature import BITS, distance
from dedup.fingerprint.sketch import SHINGLE_WORDS, compare
from dedup.fingerprint.tokens import Tokens, tokenise
from dedup.pairwise import PairDecider, PairDecision
from dedup.settings import DedupSettings
from dedup.verification import Rule, belongs_to_cluster, check, plan_of

_FEATURES = 10
_NO_TEXT = "the pages have no text, and their bytes are the same"


def explain(a: Side, b: Side, settings: DedupSettings) -> Explanation:
    """Explain what becomes of the second document where the first is all that is known."""
    decision, probe = _decide(a, b, settings)
    return _explanation(a, b, decision, probe, settings)


def explain_dropped(dropped: Dropped, settings: DedupSettings) -> Explanation:
    """Explain why a page was dropped.

    Args:
        dropped: what the database has.
        settings: those of the crawl, which the database does not have, but for the table design.
    """
    record, page, original, member = dropped.record, dropped.page, dropped.original, dropped.member
    decision, probe = _decide(original, page, settings)
    explanation = _explanation(original, page, decision, probe, settings)
    by_member = None
    if record.matched != record.original:
        decision, _ = _decide(member, page, settings)
        by_member = Member(record.matched, decision.distance, decision.similarity)
    holds = decision.rule.is_duplicate
    if by_member is not None and decision.rule.is_by_check:
        holds = belongs_to_cluster(explanation.estimated, settings)
    rule = str(decision.rule)
    if not page.signature.sketch.tokens and dropped.has_same_bytes:
        rule, holds = _NO_TEXT, True
    notes = list(explanation.notes)
    if dropped.is_let_go:
        notes.append("Its original has changed since: it is decided anew when it is fetched again.")
    elif record.distance != explanation.distance:
        notes.append("Its original has changed since: distance and similarity are no longer those of the verdict.")
    if not holds:
        rule = f"not to be told from what is stored now ({rule})"
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --mode and --set."
        )
    return replace(
        explanation,
        verdict=record.verdict,
        rule=rule,
        is_certain=True,
        record=record,
        member=by_member,
        notes=notes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """A tokenised text.

    Attributes:
        tokens: its tokens.
        counts: how often it has each.
        hashes: the hash of each.
    """

    tokens: Tokens
    counts: Counter[bytes]
    hashes: dict[bytes, int]

    @classmethod
    def of(cls, side: Side) -> _Text | None:
        if side.text is None:
            return None
        tokens = tokenise(normalise(side.text).encode())
        parts = tokens.parts()
        hashes = murmur3(np.frombuffer(tokens.data, np.uint8), tokens.starts, tokens.ends)
        return cls(tokens, Counter(parts), dict(zip(parts, hashes.tolist(), strict=True)))

    def shingles(self) -> set[tuple[bytes, ...]]:
        parts = self.tokens.parts()
        return set(zip(*(parts[at:] for at in range(SHINGLE_WORDS)), strict=False))


def _decide(a: Side, b: Side, settings: DedupSettings) -> tuple[PairDecision, Probe]:
    if b.text is not None:
        decision = PairDecider(settings).decide(a.signature, b.signature)
        return decision, Probe(True, decision.table, decision.flipped)
    # Which weak bits are flipped is not known, but what is found without them is found in any case.
    plan = plan_of(settings)
    any_margins = np.zeros(BITS, np.int64)
    signature = replace(b.signature, margins=any_margins)
    decision = PairDecider(replace(settings, weak_bits=0)).decide(a.signature, signature)
    is_known = decision.table is not None or not plan.weak_bits or decision.distance > plan.radius
    if decision.rule is Rule.NO_PROBE and not is_known:
        words = (a.signature.words, b.signature.words)
        decision = replace(decision, rule=check(a.signature.sketch, b.signature.sketch, lambda: words, settings))
    return decision, Probe(is_known, decision.table, decision.flipped)


def _explanation(a: Side, b: Side, decision: PairDecision, probe: Probe, settings: DedupSettings) -> Explanation:
    differing = a.signature.fingerprint ^ b.signature.fingerprint
    text_a, text_b = _Text.of(a), _Text.of(b)
    return Explanation(
        a=_document(a, text_a, text_b, differing, settings),
        b=_document(b, text_b, text_a, differing, settings),
        verdict=_verdict(decision.rule),
        rule=str(decision.rule),
        is_certain=probe.is_known or not decision.rule.is_by_check,
        distance=distance(a.signature.fingerprint, b.signature.fingerprint),
        differing_bits=[bit for bit in range(BITS) if differing >> bit & 1],
        probe=probe,
        estimated=compare(a.signature.sketch, b.signature.sketch),
        exact=_exact(text_a, text_b) if text_a and text_b else None,
        diff=diff_words(text_a.tokens, text_b.tokens) if text_a and text_b else None,
        record=None,
        member=None,
        notes=_notes(a, b),
        settings=settings,
    )


def _verdict(rule: Rule) -> Verdict:
    if rule is Rule.SAME_TEXT:
        return Verdict.EXACT_DUPLICATE
    return Verdict.NEAR_DUPLICATE if rule.is_duplicate else Verdict.NEW


def _notes(a: Side, b: Side) -> list[str]:
    without = [letter for letter, side in (("A", a), ("B", b)) if side.origin is Origin.FINGERPRINT]
    if not without:
        return []
    way_out = (
        "`dedup explain URL-OF-A FILE-OR-TEXT-OF-B` shows"
        if without == ["B"]
        else "`dedup explain` with the files or texts shows"
    )
    note = (
        f"The text of {' and of '.join(without)} is not stored, so its features, its margins (weak bits), the exact "
        f"similarity and the words that differ cannot be shown; {way_out} them."
    )
    return [note]


def _document(side: Side, own: _Text | None, other: _Text | None, differing: int, settings: DedupSettings) -> Document:
    signature = side.signature
    return Document(
        name=side.name,
        origin=side.origin,
        tokens=signature.sketch.tokens,
        shingles=signature.sketch.shingles,
        fingerprint=signature.fingerprint,
        margins=signature.margins.tolist() if own else None,
        weak_bits=_weak_bits(signature.margins, settings) if own else None,
        features=_features(own, other, signature.fingerprint, differing) if own else None,
    )


def _weak_bits(margins: NDArray[np.int64], settings: DedupSettings) -> list[int]:
    weak: set[int] = set()
    for table in settings.tables.tables:
        weak |= set(sorted(table.prefix, key=lambda bit: int(margins[bit]))[: settings.weak_bits])
    return sorted(weak)


def _features(own: _Text, other: _Text | None, fingerprint: int, differing: int) -> list[Feature]:
    return [
        Feature(
            token.decode(),
            count,
            other.counts[token] if other else None,
            (~(own.hashes[token] ^ fingerprint) & differing).bit_count(),
        )
        for token, count in own.counts.most_common(_FEATURES)
    ]


def _exact(a: _Text, b: _Text) -> Exact:
    ours, theirs = a.shingles(), b.shingles()
    shared = len(ours & theirs)
    return Exact(
        shared / max(1, len(ours | theirs)),
        shared / max(1, min(len(ours), len(theirs))),
        shared,
    )
