"""Explanations as they are printed, and as objects for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
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
from dedup.report.explanation import Explanation, Side
from dedup.report.table import STYLES
from dedup.report.words import MOST_PLACES, place_line
from dedup.rules.documents import Verdict
from dedup.rules.measures import Measure
from dedup.rules.settings import Limits, Mode, RuleSettings
from dedup.rules.table import Rule
from dedup.signature.schemes import SCHEMES, find_scheme
from dedup.signature.signature import BANDS, BITS

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
