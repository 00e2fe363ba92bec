"""Write fingerprints, bit by bit, and the features that push them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from dedup.display import counted, cut, pad, plain
from dedup.report.columns import LABEL, labelled
from dedup.report.explanation.contents import ExplainedDocument, Explanation, Feature
from dedup.signature.schemes import Scheme, named_schemes
from dedup.signature.signature import BITS

_GROUP = 16
_ROW = 64
_COUNT = 6
_SPACE = "␣"


def shown_scheme(scheme: Scheme) -> str:
    """Return the name of a scheme, with what it stands for."""
    name = next((name for name, each in named_schemes().items() if each == scheme), None)
    return scheme.spec if name is None else f"{name} = {scheme.spec}"


def has_both_features(explanation: Explanation) -> bool:
    """Say whether the scheme finds features in both texts."""
    return explanation.scheme.without_features not in (explanation.a.fingerprint, explanation.b.fingerprint)


def fingerprint_lines(explanation: Explanation, width: int) -> Iterator[str]:
    """Yield both fingerprints in binary, weak and differing bits marked, and how the look-up went."""
    yield from labelled("scheme", shown_scheme(explanation.scheme), width)
    # The most significant bits come first; what is wider than a row goes on in the next one.
    for end in range(explanation.scheme.bits, 0, -_ROW):
        bits = range(end - 1, max(0, end - _ROW) - 1, -1)
        if explanation.scheme.bits > _ROW:
            yield f"{'':<{LABEL}}bits {bits[0]} to {bits[-1]}"
        yield from _rows(explanation, bits)
    yield from labelled("distance", _distance(explanation), width)
    yield from labelled("probe", _probe(explanation), width)


def _rows(explanation: Explanation, bits: Sequence[int]) -> Iterator[str]:
    for label, side in (("simhash A", explanation.a), ("simhash B", explanation.b)):
        yield f"{label:<{LABEL}}{_grouped(str(side.fingerprint >> bit & 1) for bit in bits)}"
        if side.weak_bits is not None:
            yield _marked("  weak", side.weak_bits, "~", bits)
    if explanation.differing_bits:
        yield _marked("  differ", explanation.differing_bits, "^", bits)


def _marked(label: str, marked: Sequence[int], mark: str, bits: Sequence[int]) -> str:
    return f"{label:<{LABEL}}{_grouped(mark if bit in marked else ' ' for bit in bits)}".rstrip()


def _grouped(letters: Iterator[str]) -> str:
    row = "".join(letters)
    return " ".join(row[start : start + _GROUP] for start in range(0, len(row), _GROUP))


def _distance(explanation: Explanation) -> str:
    text = f"{counted(explanation.distance, 'bit')}, radius {explanation.radius}"
    weak, margins = explanation.b.weak_bits, explanation.b.margins
    if weak is None or margins is None or not explanation.differing_bits:
        return text
    among = sum(bit in weak for bit in explanation.differing_bits)
    own = sorted(margins[bit] for bit in explanation.differing_bits)
    every = sorted(margins)
    where = "of each prefix" if explanation.scheme.bits == BITS else f"of each {_GROUP} bits"
    return (
        f"{text}; {among} of them weak in B (~: the {explanation.settings.weak_bits} smallest margins {where}); "
        f"median margin {_weight(own[len(own) // 2])}, of all bits {_weight(every[len(every) // 2])}"
    )


def _probe(explanation: Explanation) -> str:
    probe, settings = explanation.probe, explanation.settings
    if explanation.scheme.bits != BITS:
        return f"none: the tables hold fingerprints of {BITS} bits, others are compared one by one"
    if not has_both_features(explanation):
        return "none: a text without features is not looked up"
    if not probe.is_known:
        return "not known: it takes the margins of B"
    if probe.table is None:
        return "none brings A"
    flips = counted(probe.flipped, "bit") if probe.flipped else "no bit"
    text = f"table {probe.table} of 0-{settings.tables.table_count - 1} brings A, with {flips} of its prefix flipped"
    return text if explanation.distance <= explanation.radius else f"{text}, but it is beyond the radius"


def feature_lines(explanation: Explanation, width: int) -> Iterator[str]:
    """Yield the heaviest features of both sides, beside each other; nothing where none are known."""
    known = [(letter, side) for letter, side in (("A", explanation.a), ("B", explanation.b)) if side.features]
    if not known:
        return
    yield ""
    bits = f"bits: how many of the {counted(explanation.distance, 'differing bit')} it pushes to its own side"
    yield from labelled("features", f"the heaviest; {bits if explanation.distance else 'no bit differs'}", width)
    column = width // 2 - 1
    tables = [list(_table(letter, side, column, explanation.scheme)) for letter, side in known]
    for row in zip_longest(*tables, fillvalue=""):
        yield "  ".join(pad(cell, column) for cell in row).rstrip()


def _table(letter: str, side: ExplainedDocument, width: int, scheme: Scheme) -> Iterator[str]:
    beside = "B" if letter == "A" else "A"
    what = "token" if scheme.is_of_tokens else "feature"
    yield f"  {'in ' + letter:>{_COUNT}}{'in ' + beside:>{_COUNT}}{'bits':>{_COUNT}}  {what}"
    for feature in side.features or ():
        yield _row(feature, width)


def _row(feature: Feature, width: int) -> str:
    beside = "-" if feature.weight_beside is None else _weight(feature.weight_beside)
    numbers = f"  {_weight(feature.weight):>{_COUNT}}{beside:>{_COUNT}}{feature.bits:>{_COUNT}}  "
    return numbers + cut(_visible(feature.name), width - len(numbers))


def _weight(value: float) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"


def _visible(name: str) -> str:
    """Return a feature with white space that can be seen: pairs of characters are cut without regard to it."""
    return plain("".join(_letter(letter) for letter in name))


def _letter(letter: str) -> str:
    if letter == " ":
        return _SPACE
    return letter.encode("unicode_escape").decode() if letter.isspace() else letter
