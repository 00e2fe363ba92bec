"""Show what methods decided: as a table for a person, as an object for a program."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from dedup.display import cut, plain
from dedup.report.evaluation.methods import Decided, Quality, SetResult

_WIDTH = 100
_NAME_WIDTH = 34
_HEAD = f"{'':{_NAME_WIDTH}}  {'pairs':>7}  precision  recall      F1  wrong  missed"
# Comparing texts takes time that grows with the product of their lengths.
_COMPARED = 3_000
_SHOWN_DIFFERENCES = 6


def table(name: str, results: Sequence[SetResult], pooled: SetResult) -> str:
    """Return the results of a method as a table: sets, their kinds of pairs, all pairs, both halves."""
    lines = [cut(plain(name), _WIDTH), _HEAD]
    for result in results:
        lines.append(_row(result.name, result.quality))
        lines += [_row(f"  {kind}", quality) for kind, quality in result.kinds.items() if len(result.kinds) > 1]
    lines.append(_row("all", pooled.quality))
    lines += [_row(f"  {half} half", quality) for half, quality in zip(("one", "other"), pooled.halves, strict=True)]
    pairs = "1 pair is" if pooled.order_dependent == 1 else f"{pooled.order_dependent:,} pairs are"
    lines.append(f"{pairs} decided otherwise if the second document comes first")
    return "\n".join(lines)


def comparison(results: Sequence[tuple[str, SetResult]]) -> str:
    """Return a table with a line for each method: all sets together."""
    return "\n".join(["compared, all sets", _HEAD, *(_row(name, pooled.quality) for name, pooled in results)])


def differences(errors: Sequence[Decided], limit: int) -> str:
    """Return the first wrong decisions, with what differs between the texts."""
    return "\n\n".join("\n".join(_error_lines(error)) for error in errors[:limit])


def as_object(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """Return results as objects for JSON."""
    return [
        {
            "name": result.name,
            **_figures(result.quality),
            "halves": [_figures(half) for half in result.halves],
            "order_dependent": result.order_dependent,
            "kinds": {kind: _figures(quality) for kind, quality in result.kinds.items()},
        }
        for result in results
    ]


def _figures(quality: Quality) -> dict[str, Any]:
    return {
        "pairs": quality.pairs,
        "true_positives": quality.true_positives,
        "false_positives": quality.false_positives,
        "false_negatives": quality.false_negatives,
        "precision": quality.precision,
        "recall": quality.recall,
        "f1": quality.f1,
    }


def _row(name: str, quality: Quality) -> str:
    if not quality.pairs:
        return f"{cut(plain(name), _NAME_WIDTH):{_NAME_WIDTH}}  {'none':>7}"
    shares = (f"{share:.4f}" for share in (quality.precision, quality.recall, quality.f1))
    precision, recall, f1 = shares
    return (
        f"{cut(plain(name), _NAME_WIDTH):{_NAME_WIDTH}}  {quality.pairs:>7,}  {precision:>9}  {recall:>6}  {f1:>6}  "
        f"{quality.false_positives:>5,}  {quality.false_negatives:>6,}"
    )


def _error_lines(error: Decided) -> Iterator[str]:
    pair = error.pair
    yield f"{'missed' if pair.is_duplicate else 'wrong'}  {plain(pair.a)}  {plain(pair.b)}  {plain(pair.kind)}"
    yield f"  {error.reason}"
    first, second = (" ".join(text.split())[:_COMPARED] for text in error.texts)
    changes = [
        change
        for change in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    for _, start, end, other_start, other_end in changes[:_SHOWN_DIFFERENCES]:
        yield f"  - {cut(plain(first[max(0, start - 10) : end + 10]), _WIDTH - 4)}"
        yield f"  + {cut(plain(second[max(0, other_start - 10) : other_end + 10]), _WIDTH - 4)}"
    if len(changes) > _SHOWN_DIFFERENCES:
        yield f"  and {len(changes) - _SHOWN_DIFFERENCES:,} more differences"
