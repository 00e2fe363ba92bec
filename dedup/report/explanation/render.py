"""An explanation for people, in a terminal, and for programs, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from dedup.display import counted, cut, plain, similarity
from dedup.index.design import TableDesign
from dedup.report.columns import LABEL, label_of, labelled, labelled_name
from dedup.report.explanation.bits import feature_lines, fingerprint_lines, has_both_features
from dedup.report.explanation.contents import Explanation, WordComparison
from dedup.report.explanation.differences import difference_lines
from dedup.report.rows import STYLES
from dedup.rules.decision import Verdict
from dedup.rules.settings import Mode
from dedup.rules.verification import fewest_tokens, least_numbers
from dedup.terminal import Styled

_RUN = 30
_OUTCOMES = {
    Verdict.NEW: "no duplicate: B is kept beside A",
    Verdict.SIMILAR: "similar: B is kept beside A",
    Verdict.UPDATED: "updated, and similar: B is kept beside A",
    Verdict.EXACT_DUPLICATE: "exact duplicate: B is dropped because of A",
    Verdict.NEAR_DUPLICATE: "near duplicate: B is dropped because of A",
}
_SETTINGS_SHOWN = (
    "mode",
    "tables",
    "radius",
    "weak_bits",
    "max_flips",
    "firm_margin",
    "min_tokens",
    "short_tokens",
    "short_jaccard",
    "caution",
    "min_jaccard",
    "min_containment",
    "min_length_ratio",
    "sure_jaccard",
    "max_replaced",
    "max_rewritten",
    "max_added",
    "max_swapped",
    "min_numbers",
    "max_compared",
)


def as_json(explanation: Explanation) -> str:
    """Write an explanation as JSON, in ASCII; fingerprints are hexadecimal."""
    content = asdict(explanation)
    for side in (content["a"], content["b"]):
        side["fingerprint"] = f"{side['fingerprint']:0{explanation.scheme.bits // 4}x}"
    for pair in (content, content["member"]):
        if pair is not None:
            _flatten_words(pair)
    content["scheme"] = {"name": explanation.scheme.spec, **content["scheme"]}
    content["settings"] = {name: _json_value(getattr(explanation.settings, name)) for name in _SETTINGS_SHOWN}
    return json.dumps(content, indent=1, allow_nan=False)


def _json_value(setting: object) -> object:
    if isinstance(setting, TableDesign):
        return str(setting)
    # JSON has no infinity; a bound that is none is null.
    return None if setting == math.inf else setting


def _flatten_words(pair: dict[str, Any]) -> None:
    """Put the comparison by words beside the other figures of a pair, null where it is not known."""
    words = pair.pop("words") or {}
    for name in (each.name for each in fields(WordComparison)):
        pair[name] = words.get(name)


def lines(explanation: Explanation, width: int) -> Iterator[str]:
    """Write an explanation in lines of so many columns, at least 80; nothing in them can upset a terminal."""
    condition = "" if explanation.is_certain else ", if a probe brings A"
    style = STYLES.get(explanation.verdict, "")
    yield from labelled("verdict", _OUTCOMES[explanation.verdict] + condition, width, style)
    yield from labelled("rule", explanation.rule, width)
    yield from _record(explanation, width)
    yield from _missed(explanation, width)
    for letter, side in (("A", explanation.a), ("B", explanation.b)):
        yield ""
        yield labelled_name(letter, side.name, width)
        counts = f"{counted(side.tokens, 'token')}, {counted(side.shingles, 'shingle')}"
        yield from labelled("", f"{side.origin}; {counts}", width)
    yield ""
    yield from fingerprint_lines(explanation, width)
    yield ""
    yield from _similarity(explanation)
    yield from _words(explanation, width)
    yield from feature_lines(explanation, width)
    yield from difference_lines(explanation, width)
    for note in explanation.notes:
        yield ""
        yield from labelled("note", note, width)


def _missed(explanation: Explanation, width: int) -> Iterator[str]:
    if explanation.missed:
        yield label_of("to be dropped")
    for missed in explanation.missed:
        yield from labelled("", missed.text, width)


def _record(explanation: Explanation, width: int) -> Iterator[str]:
    record = explanation.record
    if record is None:
        return
    when = datetime.fromtimestamp(record.decided, UTC)
    yield from labelled("decided", f"{when:%Y-%m-%d %H:%M:%S} UTC, run {cut(plain(record.run), _RUN)}", width)
    rule = f", rule: {record.rule.replace('_', ' ')}" if record.rule else ""
    yield from labelled(
        "recorded",
        f"distance {record.distance}, estimated Jaccard similarity {similarity(record.similarity)}{rule}",
        width,
    )
    member = explanation.member
    if member is None:
        return
    yield labelled_name("found by", member.name, width)
    alike, settings = member.similarity, explanation.settings
    words = "" if member.words is None else f", {_replaced(member.words)} replaced"
    yield from labelled(
        "",
        f"to it: distance {member.distance}, Jaccard {similarity(alike.jaccard)}, containment "
        f"{similarity(alike.containment)}, length ratio {similarity(alike.length_ratio)}{words}; "
        "the rule is about this pair",
        width,
    )
    yield from labelled(
        "",
        f"to the original Jaccard {similarity(settings.leader_jaccard)} or containment "
        f"{similarity(settings.leader_containment)} is asked for besides",
        width,
    )


def _similarity(explanation: Explanation) -> Iterator[str]:
    estimated, exact, settings = explanation.estimated, explanation.exact, explanation.settings
    tokens = min(explanation.a.tokens, explanation.b.tokens)
    is_comparable = tokens >= fewest_tokens(settings) and has_both_features(explanation)
    is_checked = settings.mode is not Mode.PAPER and is_comparable
    # Of short texts the words are compared, and the sketches play no part.
    is_short = tokens < settings.short_tokens
    by_sketch = is_checked and not is_short
    yield Styled.of(label_of("similarity"), "estimated  exact  needed")
    jaccard, containment = (None, None) if exact is None else (exact.jaccard, exact.containment)
    yield _row("Jaccard", estimated.jaccard, jaccard, settings.min_jaccard if by_sketch else None)
    yield _row("containment", estimated.containment, containment, settings.min_containment if by_sketch else None)
    yield _row("length ratio", estimated.length_ratio, None, settings.min_length_ratio if by_sketch else None)
    words = explanation.words
    if is_short and words is not None:
        yield _row("words, pairs", None, words.short_similarity, settings.short_jaccard if is_checked else None)
    if exact is not None:
        yield f"{'':<{LABEL}}in both: {counted(exact.shared, 'shingle')} of three tokens"
    if words is not None and words.has_other_numbers:
        yield f"{'':<{LABEL}}the numbers are not the same"


def _row(label: str, estimated: float | None, exact: float | None, needed: float | None) -> str:
    cells = ("-" if value is None else similarity(value) for value in (estimated, exact, needed))
    return f"  {label:<{LABEL - 1}}{next(cells):>8}{next(cells):>7}{next(cells):>8}"


def _words(explanation: Explanation, width: int) -> Iterator[str]:
    words, settings = explanation.words, explanation.settings
    if words is None or settings.mode is Mode.PAPER or explanation.verdict is Verdict.EXACT_DUPLICATE:
        return
    is_short = words.short_similarity is not None
    # In short texts there is too little around it for any word to be noise.
    is_noise = words.is_noise and words.replaced and not is_short
    noise = ", which are noise: no number and no name of a thing gave way" if is_noise else ""
    yield from labelled("replaced", f"{_replaced(words)} (at most {settings.max_replaced:g}){noise}", width)
    if is_short:
        return
    yield from labelled(
        "rewritten",
        f"{similarity(words.rewritten)} of the shorter text, in long stretches "
        f"(at most {similarity(settings.max_rewritten)})",
        width,
    )
    if words.added:
        yield from labelled(
            "added", f"{similarity(words.added)} as much in the middle ({_at_most(settings.max_added)})", width
        )
    yield from labelled(
        "swapped",
        f"{words.swapped:.2f} of 100 words, for the same ones throughout ({_at_most(settings.max_swapped)})",
        width,
    )
    if words.numbers_gone:
        least = least_numbers(
            words.numbers_gone,
            words.replaced,
            settings,
            is_renamed_sibling=words.is_renamed_sibling,
        )
        yield from labelled(
            "numbers",
            f"{words.numbers_gone:.2f} of 100 words are numbers that gave way; {similarity(words.numbers_shared)} of "
            f"all numbers are in both (at least {similarity(least)})",
            width,
        )


def _at_most(limit: float) -> str:
    return "any number" if limit == math.inf else f"at most {limit:g}"


def _replaced(words: WordComparison) -> str:
    return f"{words.replaced:.2f} short stretches of 100 words"
