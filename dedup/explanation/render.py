"""An explanation for people, in a terminal, and for programs, as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import zip_longest

from dedup.deduplicator import Verdict
from dedup.explanation.contents import Document, Explanation, Feature
from dedup.explanation.words import Place
from dedup.fingerprint.signature import BITS
from dedup.report.display import ELLIPSIS, columns_of, cut, pad, plain, similarity
from dedup.settings import Mode
from dedup.verification import plan_of

_LABEL = 13
_GROUP = 16
_COUNT = 6
_RUN = 30
_CONTEXT_SHARE = 5
_OUTCOMES = {
    Verdict.NEW: "no duplicate: B is kept beside A",
    Verdict.EXACT_DUPLICATE: "exact duplicate: B is dropped because of A",
    Verdict.NEAR_DUPLICATE: "near duplicate: B is dropped because of A",
}
_SETTINGS_SHOWN = (
    "mode",
    "tables",
    "radius",
    "weak_bits",
    "max_flips",
    "min_tokens",
    "short_tokens",
    "short_jaccard",
    "min_jaccard",
    "min_containment",
    "min_length_ratio",
    "sure_jaccard",
    "max_replaced",
    "max_rewritten",
    "max_compared",
)


def as_json(explanation: Explanation) -> str:
    """Write an explanation as JSON, in ASCII; fingerprints are hexadecimal."""
    content = asdict(explanation)
    for side in (content["a"], content["b"]):
        side["fingerprint"] = f"{side['fingerprint']:016x}"
    settings = {name: getattr(explanation.settings, name) for name in _SETTINGS_SHOWN}
    content["settings"] = settings | {"tables": str(explanation.settings.tables)}
    return json.dumps(content, indent=1)


def lines(explanation: Explanation, width: int) -> Iterator[str]:
    """Write an explanation line by line.

    Args:
        explanation: what to write.
        width: how many columns a line may have, at least 80.

    Yields:
        The lines, without line ends; nothing in them can upset a terminal.
    """
    condition = "" if explanation.is_certain else ", if a probe brings A"
    yield from _labelled("verdict", _OUTCOMES[explanation.verdict] + condition, width)
    yield from _labelled("rule", explanation.rule, width)
    yield from _record(explanation, width)
    for letter, side in (("A", explanation.a), ("B", explanation.b)):
        yield ""
        yield _labelled_name(letter, side.name, width)
        counts = f"{_count(side.tokens, 'token')}, {_count(side.shingles, 'shingle')}"
        yield from _labelled("", f"{side.origin}; {counts}", width)
    yield ""
    yield from _fingerprints(explanation, width)
    yield ""
    yield from _similarity(explanation)
    yield from _features(explanation, width)
    yield from _diff(explanation, width)
    for note in explanation.notes:
        yield ""
        yield from _labelled("note", note, width)


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    for number, line in enumerate(textwrap.wrap(plain(text), width - _LABEL, break_on_hyphens=False)):
        yield f"{'' if number else label:<{_LABEL}}{line}"


def _labelled_name(label: str, name: str, width: int) -> str:
    return f"{label:<{_LABEL}}{cut(plain(_one_line(name)), width - _LABEL)}".rstrip()


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _record(explanation: Explanation, width: int) -> Iterator[str]:
    record = explanation.record
    if record is None:
        return
    when = datetime.fromtimestamp(record.decided, UTC)
    yield from _labelled("decided", f"{when:%Y-%m-%d %H:%M:%S} UTC, run {cut(plain(record.run), _RUN)}", width)
    yield from _labelled(
        "recorded", f"distance {record.distance}, estimated Jaccard similarity {similarity(record.similarity)}", width
    )
    member = explanation.member
    if member is None:
        return
    yield _labelled_name("found by", member.name, width)
    alike = member.similarity
    yield from _labelled(
        "",
        f"to it: distance {member.distance}, Jaccard {similarity(alike.jaccard)}, containment "
        f"{similarity(alike.containment)}, length ratio {similarity(alike.length_ratio)}; the rule is about this pair",
        width,
    )
    settings = explanation.settings
    yield from _labelled(
        "",
        f"to the original Jaccard {similarity(settings.leader_jaccard)} or containment "
        f"{similarity(settings.leader_containment)} is asked for besides",
        width,
    )


def _fingerprints(explanation: Explanation, width: int) -> Iterator[str]:
    a, b = explanation.a, explanation.b
    for label, side in (("simhash A", a), ("simhash B", b)):
        yield f"{label:<{_LABEL}}{_grouped(f'{side.fingerprint:0{BITS}b}')}"
        if side.weak_bits is not None:
            yield _marked("  weak", side.weak_bits, "~")
    if explanation.differing_bits:
        yield _marked("  differ", explanation.differing_bits, "^")
    yield from _labelled("distance", _distance(explanation), width)
    yield from _labelled("probe", _probe(explanation), width)


def _marked(label: str, bits: Sequence[int], mark: str) -> str:
    marks = "".join(mark if bit in bits else " " for bit in range(BITS - 1, -1, -1))
    return f"{label:<{_LABEL}}{_grouped(marks)}".rstrip()


def _grouped(digits: str) -> str:
    return " ".join(digits[start : start + _GROUP] for start in range(0, BITS, _GROUP))


def _distance(explanation: Explanation) -> str:
    radius = plan_of(explanation.settings).radius
    text = f"{_count(explanation.distance, 'bit')}, radius {radius}"
    weak, margins = explanation.b.weak_bits, explanation.b.margins
    if weak is None or margins is None or not explanation.differing_bits:
        return text
    among = sum(bit in weak for bit in explanation.differing_bits)
    own = sorted(margins[bit] for bit in explanation.differing_bits)
    every = sorted(margins)
    return (
        f"{text}; {among} of them weak in B (~: the {explanation.settings.weak_bits} smallest margins of each prefix); "
        f"median margin {own[len(own) // 2]:,}, of all bits {every[len(every) // 2]:,}"
    )


def _probe(explanation: Explanation) -> str:
    probe, settings = explanation.probe, explanation.settings
    if not probe.is_known:
        return "not known: it takes the margins of B"
    if probe.table is None:
        return "none brings A"
    flips = _count(probe.flipped, "bit") if probe.flipped else "no bit"
    text = f"table {probe.table} of 0-{settings.tables.table_count - 1} brings A, with {flips} of its prefix flipped"
    return text if explanation.distance <= plan_of(settings).radius else f"{text}, but it is beyond the radius"


def _similarity(explanation: Explanation) -> Iterator[str]:
    estimated, exact, settings = explanation.estimated, explanation.exact, explanation.settings
    is_paper = settings.mode is Mode.PAPER
    rows = (
        ("Jaccard", estimated.jaccard, None if exact is None else exact.jaccard, settings.min_jaccard),
        ("containment", estimated.containment, None if exact is None else exact.containment, settings.min_containment),
        ("length ratio", estimated.length_ratio, None, settings.min_length_ratio),
    )
    yield f"{'similarity':<{_LABEL}}estimated  exact  needed"
    for label, guess, truth, needed in rows:
        known = "-" if truth is None else similarity(truth)
        asked = "-" if is_paper else similarity(needed)
        yield f"  {label:<{_LABEL - 1}}{similarity(guess):>8}{known:>7}{asked:>8}"
    if exact is not None:
        yield f"{'':<{_LABEL}}in both: {_count(exact.shared, 'shingle')} of three tokens"


def _features(explanation: Explanation, width: int) -> Iterator[str]:
    known = [(letter, side) for letter, side in (("A", explanation.a), ("B", explanation.b)) if side.features]
    if not known:
        return
    yield ""
    yield from _labelled(
        "features",
        f"the heaviest; bits: how many of the {explanation.distance} differing bits it pushes to its own side",
        width,
    )
    column = width // 2 - 1
    tables = [list(_feature_lines(letter, side, column)) for letter, side in known]
    for row in zip_longest(*tables, fillvalue=""):
        yield "  ".join(pad(cell, column) for cell in row).rstrip()


def _feature_lines(letter: str, side: Document, width: int) -> Iterator[str]:
    beside = "B" if letter == "A" else "A"
    yield f"  {'in ' + letter:>{_COUNT}}{'in ' + beside:>{_COUNT}}{'bits':>{_COUNT}}  token"
    for feature in side.features or ():
        yield _feature_line(feature, width)


def _feature_line(feature: Feature, width: int) -> str:
    beside = "-" if feature.weight_beside is None else f"{feature.weight_beside:,}"
    numbers = f"  {feature.weight:>{_COUNT},}{beside:>{_COUNT}}{feature.bits:>{_COUNT}}  "
    return numbers + cut(plain(feature.token), width - len(numbers))


def _diff(explanation: Explanation, width: int) -> Iterator[str]:
    diff = explanation.diff
    if diff is None:
        return
    yield ""
    if not diff.place_count:
        is_same = explanation.verdict is Verdict.EXACT_DUPLICATE
        yield f"{'what differs':<{_LABEL}}{'nothing' if is_same else 'no token, only what stands between them'}"
        return
    yield from _labelled(
        "what differs",
        f"{_count(diff.place_count, 'place')}: {diff.tokens_removed:,} of {explanation.a.tokens:,} tokens of A, "
        f"{diff.tokens_added:,} of {explanation.b.tokens:,} of B",
        width,
    )
    for place in diff.places:
        yield _place(place, width)
    if diff.place_count > len(diff.places):
        yield f"  and {diff.place_count - len(diff.places):,} more"


def _place(place: Place, width: int) -> str:
    head = f"  {f'-{place.tokens_removed:,}':>{_COUNT}} {f'+{place.tokens_added:,}':<{_COUNT}} "
    context = (width - len(head)) // _CONTEXT_SHARE
    before, after = plain(place.before), plain(place.after)
    # The words next to the change say most.
    if columns_of(before) > context:
        before = ELLIPSIS + _fitting(before[::-1], context - 1)[::-1]
    if columns_of(after) > context:
        after = _fitting(after, context - 1) + ELLIPSIS
    marks = " ".join(mark for mark, text in (("[-{}-]", place.removed), ("{{+{}+}}", place.added)) if text)
    rest = width - columns_of(" ".join((head, before, after, marks.format("", "")))) - 1
    removed, added = plain(place.removed), plain(place.added)
    half = rest // 2
    shown_removed = cut(removed, max(half, rest - columns_of(added)))
    shown_added = cut(added, rest - columns_of(shown_removed))
    changed = marks.format(*(text for text in (shown_removed, shown_added) if text))
    return head + " ".join(part for part in (before, changed, after) if part)


def _fitting(text: str, width: int) -> str:
    """Return as many letters of the start of a text as fit."""
    fitting = text[:width]
    while columns_of(fitting) > width:
        fitting = fitting[:-1]
    return fitting
