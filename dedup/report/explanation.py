"""Explanations: why two documents are duplicates, or are not, by what the check measures of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dedup.console import (
    HEADING,
    LABEL,
    WARNING,
    Line,
    counted,
    joined,
    labelled,
    linked,
    plain,
    shortened,
    styled,
    table,
)
from dedup.console import similarity as share
from dedup.keys import TableDesign
from dedup.report.contents import Row
from dedup.report.rejoining import rejoin
from dedup.report.table import STYLES
from dedup.report.texts import Dropped, Origin, Side
from dedup.report.triage import names_in
from dedup.report.words import MOST_PLACES, WordDiff, are_too_long, diff_words, place_line, tokens_of
from dedup.rules.documents import Match, StoredDocument, Verdict
from dedup.rules.measures import Measure
from dedup.rules.other_fields import other_fields, unpacked
from dedup.rules.settings import Limits, Mode, RuleSettings
from dedup.rules.signs import differing_signs
from dedup.rules.table import Rule, measure
from dedup.rules.two_texts import PairDecider, PairDecision, decision_of_pair
from dedup.signature.schemes import SCHEMES, Scheme, find_scheme
from dedup.signature.signature import BANDS, BITS, distance
from dedup.signature.tokens import Tokens

_NEEDS_WORDS = (Rule.NO_KEY, Rule.NOT_ALIKE)
# What decides there is more than two texts.
_BEYOND_TEXTS = tuple(
    rule.short for rule in (Rule.SAME_SHORT_TEXT, Rule.OTHER_FIELDS, Rule.UPDATED, Rule.NEW_TEXT, Rule.MOVED)
)

_DROPPED, _MARKED = "B is dropped because of A", "B would be dropped because of A"
_OUTCOMES = {
    Verdict.NEW: "no duplicate: B is kept beside A",
    Verdict.SIMILAR: "similar: B is kept beside A",
    Verdict.UPDATED: "updated, and similar: B is kept beside A",
    Verdict.EXACT_DUPLICATE: f"exact duplicate: {_DROPPED}",
    Verdict.NEAR_DUPLICATE: f"near duplicate: {_DROPPED}",
}
_MEASURED = {
    "min_tokens": "tokens of the shorter text",
    "short_tokens": "tokens of the shorter text",
    "short_jaccard": "words and pairs of words in both",
    "min_jaccard": "Jaccard similarity",
    "min_containment": "containment",
    "min_length_ratio": "length ratio",
    "max_rewritten": "rewritten in long stretches, of the shorter text",
    "max_replaced": "short stretches replaced, of 100 words",
    "max_added": "added in the middle, of the shorter text",
    "max_swapped": "words swapped for the same throughout, of 100",
    "min_numbers": "numbers in both",
    "leader_jaccard": "Jaccard similarity",
    "leader_containment": "containment",
}
_OF_100_WORDS = {"max_replaced", "max_swapped"}
_SETTINGS_SHOWN = (
    *("mode", "tables", "min_tokens", "short_tokens", "short_jaccard", "caution"),
    *("max_compared", "leader_jaccard", "leader_containment"),
)
# Characters, and bits.
_LONGEST_NAME, _GROUP = 300, 16


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why the second of two documents is a duplicate of the first, or is not.

    Attributes:
        a: the document that is known; of a page of a database that by which it was found.
        b: the document that comes after it.
        decision: what becomes of the second, with the keys that the two share.
        measures: what was measured of the two, in its order.
        verdict: on the second; of a page of a database the one that stands there.
        rule: what decides on the two now.
        reason: its sentence; of a verdict that does not follow from what is stored now that.
        is_certain: whether the words of both are known, where it takes them to decide.
        diff: what differs; None where the words of one are not known, or the texts too long.
        signs: where the same tokens have other signs between them: what is there in the first and in the second.
        notes: what has to be said besides, a sentence each.
        settings: by which it was decided.
        record: the verdict that the database has, if that is explained.
    """

    a: Side
    b: Side
    decision: PairDecision
    measures: list[Measure]
    verdict: Verdict
    rule: Rule
    reason: str
    is_certain: bool
    diff: WordDiff | None
    signs: list[tuple[str, str]]
    notes: list[str]
    settings: RuleSettings
    record: Row | None = None

    @property
    def bands(self) -> tuple[int, ...] | None:
        """The numbers of the bands that they share; None where they are not known."""
        return None if Origin.FINGERPRINT in (self.a.origin, self.b.origin) else self.decision.bands

    @property
    def differing_bits(self) -> list[int]:
        """The bits in which the fingerprints differ, 0 the least significant."""
        differing = self.a.signature.fingerprint ^ self.b.signature.fingerprint
        return [bit for bit in range(BITS) if differing >> bit & 1]


def explain(a: Side, b: Side, settings: RuleSettings, leader: Side | None = None) -> Explanation:
    """Explain what becomes of the second document where the first is known.

    Args:
        a: the first.
        b: the second.
        settings: by which it is decided.
        leader: the leader of the cluster of the first; None: the first itself.
    """
    member = _stored(a)
    match = Match(member if leader in (None, a) else _stored(leader), member)
    known = {"key": b.name, "title": b.title, "fields": b.fields}
    pair = PairDecider(settings).pair(a.signature, b.signature, match, **known, in_full=True)
    decision = decision_of_pair(pair)
    scheme = find_scheme(settings.scheme)
    first, second = _tokens(a, scheme), _tokens(b, scheme)
    is_too_long = are_too_long(a.tokens, b.tokens)
    rule = decision.rule
    return Explanation(
        a,
        b,
        decision,
        list(measure(pair)),
        verdict=rule.verdict,
        rule=rule,
        reason=rule.says,
        is_certain=rule not in _NEEDS_WORDS or Origin.FINGERPRINT not in (a.origin, b.origin),
        diff=diff_words(first, second, None if a.text is None else names_in(a.text), None)
        if first and second and not is_too_long
        else None,
        signs=list(differing_signs(a.signature.words, b.signature.words)),
        notes=list(_notes(a, b, is_too_long=is_too_long)),
        settings=settings,
    )


def explain_dropped(dropped: Dropped, settings: RuleSettings) -> Explanation:
    """Explain why a page was dropped, or what it resembles, as a database has it.

    It is decided once more, by the settings of the crawl, of which the database has but scheme and tables.
    """
    record, page = dropped.record, dropped.page
    is_found_by_leader = record.matched == record.original
    member = dropped.original if is_found_by_leader else dropped.member
    explanation = explain(member, page, settings, dropped.original)
    found, notes = explanation.decision.rule, [*explanation.notes, *_notes_of_record(dropped)]
    if not page.tokens and dropped.has_same_bytes:
        found = Rule.SAME_BYTES
    elif record.rule in _BEYOND_TEXTS:
        found = Rule.of(record.rule or "")
    follows = found.is_duplicate if record.verdict.is_duplicate else found.is_similar or found.short == record.rule
    if not follows:
        notes.append(
            "The verdict does not follow from what is stored now: a page has changed since, or the crawl had other "
            "settings, which the database does not keep; give them by --mode and --set."
        )
    reason = found.says if follows else f"unknown from what is stored now ({found.says})"
    told = replace(explanation, verdict=record.verdict, rule=found, reason=reason, is_certain=True)
    return replace(told, record=record, notes=notes)


def _stored(side: Side) -> StoredDocument:
    signature = side.signature
    return StoredDocument(
        id=0,
        key=side.name,
        text_digest=signature.text_digest,
        fingerprint=signature.fingerprint,
        sketch=signature.sketch,
        title=side.title,
        fields=side.fields,
    )


def _tokens(side: Side, scheme: Scheme) -> Tokens | None:
    """Return the tokens of a side where they stand in its text; None where neither text nor words are stored."""
    if side.text is not None:
        return tokens_of(side.text, scheme)
    return rejoin(side.signature.words) if side.signature.words else None


def _notes(a: Side, b: Side, *, is_too_long: bool) -> Iterator[str]:
    sides = {"A": a, "B": b}
    if names := other_fields(a.fields, b.fields):
        values = [unpacked(side.fields).values for side in (a, b)]
        told = (f"{name}: {' '.join(values[0][name])} in A, {' '.join(values[1][name])} in B" for name in names)
        yield f"Their fields tell them apart: {'; '.join(told)}."
    if is_too_long:
        yield (
            f"With {a.tokens:,} and {b.tokens:,} tokens the texts are too long for the words that differ to be shown."
        )
    for letter, side in sides.items():
        if side.guessed_encoding:
            yield (
                f"{letter} is not UTF-8 and was read as {side.guessed_encoding}, which is a guess, and a bad one where "
                f"there are few words; --encoding NAME settles it."
            )
    without = [letter for letter, side in sides.items() if side.origin is Origin.FINGERPRINT]
    if without:
        is_b = without == ["B"]
        way_out = "`dedup explain URL-OF-A FILE-OR-TEXT-OF-B`" if is_b else "`dedup explain` with the files or texts"
        yield (
            f"Neither text nor words of {' and of '.join(without)} are stored, so bands, what the words say and "
            f"where they differ cannot be shown; {way_out} shows them."
        )


def _notes_of_record(dropped: Dropped) -> Iterator[str]:
    record = dropped.record
    if record.verdict.is_duplicate and record.is_kept:
        yield "It was kept because nothing is dropped in this run (DEDUP_MARK_ONLY)."
    if dropped.is_let_go:
        yield "It was released, or its original has changed since: it is re-evaluated when it is fetched again."
        return
    if record.distance != distance(dropped.original.signature.fingerprint, dropped.page.signature.fingerprint):
        other = "Its original" if record.verdict.is_duplicate else "What it resembles"
        yield f"{other} has changed since: distance and similarity are no longer those of the verdict."
    if record.rule == Rule.OTHER_FIELDS.short and not other_fields(dropped.original.fields, dropped.page.fields):
        yield "Several things have this text, and their fields do not tell which of them it is, if it is one of them."


def as_object(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as an object for a program; fingerprints are hexadecimal."""
    settings, decision = explanation.settings, explanation.decision
    scheme = find_scheme(settings.scheme)
    return {
        "a": _side_object(explanation.a),
        "b": _side_object(explanation.b),
        "verdict": explanation.verdict,
        "rule": explanation.rule.short,
        "reason": explanation.reason,
        "measures": [
            {**each._asdict(), "limit": _json_value(each.limit), "is_met": each.is_met} for each in explanation.measures
        ],
        "is_certain": explanation.is_certain,
        "distance": decision.distance,
        "differing_bits": explanation.differing_bits,
        "estimated": asdict(decision.similarity),
        "keys": {"tables": decision.tables, "bands": explanation.bands},
        "signs": explanation.signs,
        "diff": explanation.diff and asdict(explanation.diff),
        "record": explanation.record and explanation.record.as_object(),
        "notes": explanation.notes,
        "settings": {name: _json_value(value) for name, value in _shown_settings(settings)},
        "scheme": {"name": scheme.spec, **asdict(scheme)},
    }


def _shown_settings(settings: RuleSettings) -> Iterator[tuple[str, object]]:
    yield from ((name, getattr(settings, name)) for name in _SETTINGS_SHOWN)
    yield from ((name, limit) for name, limit in settings.limits._asdict().items() if name != "max_lost")


def _side_object(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "origin": side.origin,
        "tokens": side.tokens,
        "shingles": side.signature.sketch.shingles,
        "fingerprint": f"{side.signature.fingerprint:0{BITS // 4}x}",
    }


def _json_value(value: object) -> object:
    if isinstance(value, TableDesign):
        return str(value)
    # JSON has no infinity; a bound that is none is null.
    return None if value == math.inf else value


def lines(explanation: Explanation, *, with_bits: bool = False) -> Iterator[Line]:
    """Write an explanation; nothing in it can upset a terminal.

    Args:
        explanation: what is written.
        with_bits: whether fingerprints and keys are shown, too.
    """
    yield labelled(_head(explanation))
    yield from _differences(explanation)
    if explanation.measures:
        yield ""
        yield table(("measured", ">value", "limit", "", "set by"), map(_measure, explanation.measures))
    if explanation.record is not None:
        yield ""
        yield labelled(_recorded(explanation.record))
    if with_bits:
        yield ""
        yield from _fingerprints(explanation)
    for note in explanation.notes:
        yield ""
        yield labelled([("note", note)])


def _head(explanation: Explanation) -> Iterator[tuple[str, Any]]:
    if explanation.is_certain:
        outcome, record = _OUTCOMES[explanation.verdict], explanation.record
        if record is not None and record.is_kept:
            outcome = outcome.replace(_DROPPED, _MARKED)
        yield "verdict", styled(outcome, STYLES.get(explanation.verdict, ""))
        yield "rule", explanation.reason
    else:
        yield "verdict", "not known: it takes the words of both"
    for letter, side in (("A", explanation.a), ("B", explanation.b)):
        yield letter, linked(side.name, shortened(plain(" ".join(side.name.split())), _LONGEST_NAME))
        counts = f"{counted(side.tokens, 'token')}, {counted(side.signature.sketch.shingles, 'shingle')}"
        yield "", f"{side.origin}; {counts}"
    record = explanation.record
    if record is not None and record.matched != record.original:
        yield "original", linked(record.original, plain(record.original))
        yield "", "A, by which B was found, is a duplicate of it"


def _differences(explanation: Explanation) -> Iterator[Line]:
    """Yield the places in which two texts differ, and the signs; nothing where that is not known."""
    diff = explanation.diff
    if diff is None:
        return
    yield ""
    tokens = explanation.a.tokens, explanation.b.tokens
    told = f"{diff.tokens_removed:,} of {tokens[0]:,} tokens of A, {diff.tokens_added:,} of {tokens[1]:,} of B"
    if not diff.place_count:
        is_same = explanation.verdict is Verdict.EXACT_DUPLICATE
        yield labelled([("what differs", "nothing" if is_same else "no token, only what stands between them")])
    else:
        yield labelled([("what differs", f"{counted(diff.place_count, 'place')}: {told}")])
    yield from map(place_line, diff.places)
    signs = explanation.signs[:MOST_PLACES]
    yield from (labelled([("other signs", f"A: {plain(a)}   B: {plain(b)}")]) for a, b in signs)


def _measure(measure: Measure) -> tuple[Any, ...]:
    name, limit = measure.name, measure.limit
    value, bound = _shown(name, measure.value), _shown(name, limit)
    if value == bound and measure.value != limit:
        # Rounded, they would seem to be the same.
        value, bound = f"{measure.value:.5g}", f"{limit:.5g}"
    # Some limits are moved by no setting.
    moved_by = name if name in RuleSettings.names() else "caution" if name in Limits._fields else ""
    return (
        " ".join(filter(None, (_MEASURED[name], measure.what))),
        value,
        ("any" if limit == math.inf else f"at {'most' if name.startswith('max_') else 'least'} {bound}"),
        "" if measure.is_met else styled("missed", WARNING),
        RuleSettings.full_name(moved_by) if moved_by else "",
    )


def _shown(name: str, value: float) -> str:
    if name in ("min_tokens", "short_tokens"):
        return f"{value:,.0f}"
    return f"{value:.3g}" if name in _OF_100_WORDS else share(value)


def _recorded(record: Row) -> Iterator[tuple[str, str]]:
    when = datetime.fromtimestamp(record.decided, UTC)
    yield "decided", f"{when:%Y-%m-%d %H:%M:%S} UTC, run {plain(record.run)}"
    yield "recorded", f"estimated {record.alike} alike: {record.reason}"


def _fingerprints(explanation: Explanation) -> Iterator[Line]:
    """Yield both fingerprints in binary, differing bits marked, and the keys that bring one document for the other."""
    settings, decision, differing = explanation.settings, explanation.decision, explanation.differing_bits
    scheme = find_scheme(settings.scheme)
    name = next((name for name, each in SCHEMES.items() if each == scheme), None)
    yield labelled([("scheme", scheme.spec if name is None else f"{name} = {scheme.spec}")])
    # The most significant bits come first.
    bits = range(BITS - 1, -1, -1)
    for label, side in (("simhash A", explanation.a), ("simhash B", explanation.b)):
        yield _grouped(label, "".join(str(side.signature.fingerprint >> bit & 1) for bit in bits))
    if differing:
        yield _grouped("  differ", "".join("^" if bit in differing else " " for bit in bits))
    where = "within" if len(differing) <= settings.radius else "beyond"
    tables = f"{len(decision.tables)} of {counted(settings.tables.table_count, 'table')}"
    bands = "bands are not known" if explanation.bands is None else f"{len(explanation.bands)} of {BANDS} bands"
    keys = tables if settings.mode is Mode.PAPER else f"{tables}, {bands}"
    yield labelled(
        [
            ("distance", f"{counted(len(differing), 'bit')}, {where} the radius of {settings.radius}"),
            ("keys shared", f"{keys}{': A is not looked at' if decision.rule is Rule.NO_KEY else ''}"),
        ]
    )


def _grouped(label: str, row: str) -> Line:
    groups = " ".join(row[start : start + _GROUP] for start in range(0, len(row), _GROUP))
    return joined(styled(f"{label:<{LABEL}}", HEADING), f"  {groups}")
