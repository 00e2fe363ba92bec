"""An explanation for people, in a terminal, and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dedup.console import (
    ADDED,
    HEADING,
    LABEL,
    REMOVED,
    Line,
    counted,
    joined,
    labelled,
    linked,
    plain,
    shortened,
    similarity,
    styled,
)
from dedup.index import TableDesign
from dedup.report.explanation.build import Comparison, Explanation, WordComparison
from dedup.report.explanation.stored import Side
from dedup.report.explanation.words import MOST_PLACES, Place
from dedup.report.table import STYLES
from dedup.rules.documents import Verdict
from dedup.rules.settings import Limits, Mode, RuleSettings
from dedup.rules.verification import is_comparable
from dedup.signature.schemes import SCHEMES, Scheme, find_scheme
from dedup.signature.signature import BANDS, BITS

if TYPE_CHECKING:
    from rich.text import Text

_COUNT = 6
# Characters.
_PASSAGE = 300


_RUN = 30
_GROUP = 16
_OUTCOMES = {
    Verdict.NEW: "no duplicate: B is kept beside A",
    Verdict.SIMILAR: "similar: B is kept beside A",
    Verdict.UPDATED: "updated, and similar: B is kept beside A",
    Verdict.EXACT_DUPLICATE: "exact duplicate: B is dropped because of A",
    Verdict.NEAR_DUPLICATE: "near duplicate: B is dropped because of A",
}
_SETTINGS_SHOWN = (
    *("mode", "tables", "min_tokens", "short_tokens", "short_jaccard", "caution"),
    *(name for name in Limits._fields if name != "max_lost"),
    *("max_compared", "leader_jaccard", "leader_containment"),
)


def difference_lines(explanation: Explanation) -> Iterator[Line]:
    """Yield the places in which two texts differ; nothing where that is not known."""
    diff = explanation.diff
    if diff is None:
        return
    yield ""
    if not diff.place_count:
        is_same = explanation.verdict is Verdict.EXACT_DUPLICATE
        what = "nothing" if is_same else "no token, only what stands between them"
        yield labelled([("what differs", what)])
        return
    tokens = explanation.pair.a.tokens, explanation.pair.b.tokens
    told = f"{diff.tokens_removed:,} of {tokens[0]:,} tokens of A, {diff.tokens_added:,} of {tokens[1]:,} of B"
    yield labelled([("what differs", f"{counted(diff.place_count, 'place')}: {told}")])
    for place in diff.places:
        yield place_line(place)
    if diff.place_count > len(diff.places):
        yield f"  and {diff.place_count - len(diff.places):,} more"


def place_line(place: Place) -> Text:
    """Write one place of a difference in a line."""
    before, removed, added, after = (
        shortened(plain(text), _PASSAGE) for text in (place.before, place.removed, place.added, place.after)
    )
    return joined(
        f"  {f'-{place.tokens_removed:,}':>{_COUNT}} {f'+{place.tokens_added:,}':<{_COUNT}} {before} ",
        styled(f"[-{removed}-] " if removed else "", REMOVED),
        styled(f"{{+{added}+}} " if added else "", ADDED),
        after,
    )


def as_object(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as an object for a program; fingerprints are hexadecimal."""
    pair, settings, member = explanation.pair, explanation.settings, explanation.member
    scheme = find_scheme(settings.scheme)
    return {
        "a": _side_object(pair.a),
        "b": _side_object(pair.b),
        "verdict": explanation.verdict,
        "rule": explanation.rule,
        "missed": list(map(asdict, explanation.missed)),
        "is_certain": explanation.is_certain,
        "differing_bits": _differing_bits(pair),
        "estimated": asdict(pair.decision.similarity),
        **_pair_object(pair),
        "diff": explanation.diff and asdict(explanation.diff),
        "record": explanation.record and asdict(explanation.record),
        "member": member and {"name": member.a.name, **_pair_object(member)},
        "notes": explanation.notes,
        "settings": {name: _json_value(getattr(settings, name)) for name in _SETTINGS_SHOWN},
        "scheme": {"name": scheme.spec, **asdict(scheme)},
    }


def _side_object(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "origin": side.origin,
        "tokens": side.tokens,
        "shingles": side.signature.sketch.shingles,
        "fingerprint": f"{side.signature.fingerprint:0{BITS // 4}x}",
    }


def _pair_object(pair: Comparison) -> dict[str, Any]:
    """Return how two documents compare, with the figures by words among the others, null where they are not known."""
    keys = {"tables": pair.decision.tables, "bands": pair.bands}
    words = {each.name: pair.words and getattr(pair.words, each.name) for each in fields(WordComparison)}
    exact = pair.exact and asdict(pair.exact)
    return {"distance": pair.decision.distance, "keys": keys, "exact": exact, **words, "signs": pair.signs}


def _differing_bits(pair: Comparison) -> list[int]:
    """Return the bits in which the fingerprints differ, 0 the least significant."""
    differing = pair.a.signature.fingerprint ^ pair.b.signature.fingerprint
    return [bit for bit in range(BITS) if differing >> bit & 1]


def _json_value(setting: object) -> object:
    if isinstance(setting, TableDesign):
        return str(setting)
    # JSON has no infinity; a bound that is none is null.
    return None if setting == math.inf else setting


def lines(explanation: Explanation, *, with_bits: bool = False) -> Iterator[Line]:
    """Write an explanation; nothing in it can upset a terminal.

    Args:
        explanation: what is written.
        with_bits: whether fingerprints and keys are shown, too.
    """
    style = STYLES.get(explanation.verdict, "") if explanation.is_certain else ""
    verdict = _OUTCOMES[explanation.verdict] if explanation.is_certain else "not known: it takes the words of both"
    yield labelled([("verdict", styled(verdict, style))])
    if explanation.is_certain:
        yield labelled([("rule", explanation.rule)])
    for letter, side in (("A", explanation.pair.a), ("B", explanation.pair.b)):
        yield labelled([(letter, linked(side.name, _shown_name(side.name)))])
        counts = f"{counted(side.tokens, 'token')}, {counted(side.signature.sketch.shingles, 'shingle')}"
        yield labelled([("", f"{side.origin}; {counts}")])
    yield from difference_lines(explanation)
    for first, second in explanation.pair.signs[:MOST_PLACES]:
        yield labelled([("other signs", f"A: {plain(first)}   B: {plain(second)}")])
    yield from _missed(explanation)
    yield ""
    yield from _similarity(explanation)
    yield from _words(explanation)
    yield from _record(explanation, with_bits=with_bits)
    if with_bits:
        yield ""
        yield from _fingerprints(explanation)
    for note in explanation.notes:
        yield ""
        yield labelled([("note", note)])


def _shown_name(name: str) -> str:
    return shortened(plain(" ".join(name.split())), _PASSAGE)


def _missed(explanation: Explanation) -> Iterator[Line]:
    # Where nothing is alike, no setting would be the way to have it dropped.
    if not explanation.missed or explanation.verdict is Verdict.NEW:
        return
    yield ""
    yield styled("to be dropped", HEADING)
    for missed in explanation.missed:
        yield labelled([("", missed.text)])


def _record(explanation: Explanation, *, with_bits: bool) -> Iterator[Line]:
    record = explanation.record
    if record is None:
        return
    yield ""
    when = datetime.fromtimestamp(record.decided, UTC)
    yield labelled([("decided", f"{when:%Y-%m-%d %H:%M:%S} UTC, run {shortened(plain(record.run), _RUN)}")])
    rule = f", rule: {record.rule.replace('_', ' ')}" if record.rule else ""
    yield labelled(
        [
            (
                "recorded",
                f"distance {record.distance}, estimated Jaccard similarity {similarity(record.similarity)}{rule}",
            )
        ]
    )
    member = explanation.member
    if member is None:
        return
    yield labelled([("found by", linked(member.a.name, _shown_name(member.a.name)))])
    settings, exact = explanation.settings, member.exact
    alike = (
        ""
        if exact is None
        else f", Jaccard {similarity(exact.jaccard)}, containment {similarity(exact.containment)}, "
        f"length ratio {similarity(exact.length_ratio)}"
    )
    words = "" if member.words is None else f", {_replaced(member.words)} replaced"
    yield labelled([("", f"to it: distance {member.decision.distance}{alike}{words}; the rule is about this pair")])
    if with_bits:
        yield labelled([("", f"keys shared with it: {_counted_keys(member, settings)}")])
    limits = f"Jaccard {similarity(settings.leader_jaccard)} or containment {similarity(settings.leader_containment)}"
    yield labelled([("", f"to the original {limits} is asked for besides")])


def _fingerprints(explanation: Explanation) -> Iterator[Line]:
    """Yield both fingerprints in binary, differing bits marked, and the keys that bring one document for the other."""
    yield labelled([("scheme", _shown_scheme(find_scheme(explanation.settings.scheme)))])
    pair, differing = explanation.pair, _differing_bits(explanation.pair)
    # The most significant bits come first.
    bits = range(BITS - 1, -1, -1)
    for label, side in (("simhash A", pair.a), ("simhash B", pair.b)):
        yield _grouped(label, (str(side.signature.fingerprint >> bit & 1) for bit in bits))
    if differing:
        yield _grouped("  differ", ("^" if bit in differing else " " for bit in bits))
    radius = explanation.settings.radius
    where = "within" if len(differing) <= radius else "beyond"
    yield labelled([("distance", f"{counted(len(differing), 'bit')}, {where} the radius of {radius}")])
    yield labelled([("keys shared", _keys(pair, explanation.settings))])


def _shown_scheme(scheme: Scheme) -> str:
    name = next((name for name, each in SCHEMES.items() if each == scheme), None)
    return scheme.spec if name is None else f"{name} = {scheme.spec}"


def _grouped(label: str, letters: Iterator[str]) -> str:
    row = "".join(letters)
    groups = " ".join(row[start : start + _GROUP] for start in range(0, len(row), _GROUP))
    return f"{label:<{LABEL + 2}}{groups}".rstrip()


def _keys(pair: Comparison, settings: RuleSettings) -> str:
    text = _counted_keys(pair, settings)
    if pair.bands or pair.bands is None or pair.decision.distance <= settings.radius:
        return text
    # Of the tables alone only what is near counts.
    return f"{text}, too far apart for tables alone" if pair.decision.tables else f"{text}: A is not looked at"


def _counted_keys(pair: Comparison, settings: RuleSettings) -> str:
    tables = f"{len(pair.decision.tables)} of {counted(settings.tables.table_count, 'table')}"
    if settings.mode is Mode.PAPER:
        return tables
    return f"{tables}, {'bands are not known' if pair.bands is None else f'{len(pair.bands)} of {BANDS} bands'}"


def _similarity(explanation: Explanation) -> Iterator[Line]:
    pair, settings = explanation.pair, explanation.settings
    estimated, exact, words, tokens = pair.decision.similarity, pair.exact, pair.words, pair.tokens
    is_checked = settings.mode is not Mode.PAPER and is_comparable(tokens, settings)
    # Of short texts words and pairs of words are compared, and shingles play no part.
    is_short = tokens < settings.short_tokens
    yield joined(styled(f"{'similarity':<{LABEL}}", HEADING), "   exact  needed  estimated")
    for label, name in (("Jaccard", "jaccard"), ("containment", "containment"), ("length ratio", "length_ratio")):
        needed = getattr(settings, f"min_{name}") if is_checked and not is_short else None
        yield _row(label, None if exact is None else getattr(exact, name), needed, getattr(estimated, name))
    if is_short and words is not None:
        yield _row("words, pairs", words.short_similarity, settings.short_jaccard if is_checked else None, None)
    if exact is not None:
        yield f"{'':<{LABEL + 2}}in both: {counted(exact.shared, 'shingle')} of three tokens"
    if words is not None and words.has_other_numbers:
        yield f"{'':<{LABEL + 2}}the numbers are not the same"


def _row(label: str, exact: float | None, needed: float | None, estimated: float | None) -> str:
    cells = ("-" if value is None else similarity(value) for value in (exact, needed, estimated))
    return f"  {label:<{LABEL}}{next(cells):>5}{next(cells):>8}{next(cells):>11}"


def _words(explanation: Explanation) -> Iterator[Line]:
    words, settings = explanation.pair.words, explanation.settings
    if words is None or settings.mode is Mode.PAPER or explanation.verdict is Verdict.EXACT_DUPLICATE:
        return
    is_short = words.short_similarity is not None
    # In short texts there is too little around it for any word to be noise.
    noise = "" if is_short or not words.is_noise else ", which are noise: no number and no name of a thing gave way"
    told = [("replaced", words.replaced, f"{_replaced(words)} (at most {settings.max_replaced:g}){noise}")]
    if not is_short:
        rewritten, shared = similarity(words.rewritten), similarity(words.numbers_shared)
        gone = f"{words.numbers_gone:.2f} of 100 words are numbers that gave way"
        least = similarity(words.least_numbers(settings))
        told += [
            (
                "rewritten",
                words.rewritten,
                f"{rewritten} of the shorter text, in long stretches (at most {similarity(settings.max_rewritten)})",
            ),
            ("added", words.added, f"{similarity(words.added)} as much in the middle ({_at_most(settings.max_added)})"),
            (
                "swapped",
                words.swapped,
                f"{words.swapped:.2f} of 100 words, for the same ones throughout ({_at_most(settings.max_swapped)})",
            ),
            ("numbers", words.numbers_gone, f"{gone}; {shared} of all numbers are in both (at least {least})"),
        ]
    for label, value, text in told:
        if value:
            yield labelled([(label, text)])


def _at_most(limit: float) -> str:
    return "any number" if limit == math.inf else f"at most {limit:g}"


def _replaced(words: WordComparison) -> str:
    return f"{words.replaced:.2f} short stretches of 100 words"
