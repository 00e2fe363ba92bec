"""Write what differs between two texts, place by place."""

from __future__ import annotations

from collections.abc import Iterator

from dedup.display import ELLIPSIS, columns_of, counted, cut, plain
from dedup.report.columns import label_of, labelled
from dedup.report.explanation.contents import Explanation
from dedup.report.explanation.words import Place
from dedup.rules.decision import Verdict
from dedup.terminal import ADDED, REMOVED, Styled, joined, styled

_COUNT = 6
_CONTEXT_SHARE = 5


def difference_lines(explanation: Explanation, width: int) -> Iterator[str]:
    """Yield the places in which two texts differ; nothing where that is not known."""
    diff = explanation.diff
    if diff is None:
        return
    yield ""
    if not diff.place_count:
        is_same = explanation.verdict is Verdict.EXACT_DUPLICATE
        what = "nothing" if is_same else "no token, only what stands between them"
        yield Styled.of(label_of("what differs"), what)
        return
    yield from labelled(
        "what differs",
        f"{counted(diff.place_count, 'place')}: {diff.tokens_removed:,} of {explanation.a.tokens:,} tokens of A, "
        f"{diff.tokens_added:,} of {explanation.b.tokens:,} of B",
        width,
    )
    for place in diff.places:
        yield place_line(place, width)
    if diff.place_count > len(diff.places):
        yield f"  and {diff.place_count - len(diff.places):,} more"


def place_line(place: Place, width: int) -> Styled:
    """Write one place of a difference in a line of so many columns."""
    head = f"  {f'-{place.tokens_removed:,}':>{_COUNT}} {f'+{place.tokens_added:,}':<{_COUNT}} "
    context = (width - len(head)) // _CONTEXT_SHARE
    before, after = plain(place.before), plain(place.after)
    # The words next to the change say most.
    if columns_of(before) > context:
        before = ELLIPSIS + _fitting(before[::-1], context - 1)[::-1]
    if columns_of(after) > context:
        after = _fitting(after, context - 1) + ELLIPSIS
    removed, added = plain(place.removed), plain(place.added)
    marks = " ".join(mark for mark, text in (("[--]", removed), ("{++}", added)) if text)
    rest = width - columns_of(" ".join((head, before, after, marks))) - 1
    shown_removed = cut(removed, max(rest // 2, rest - columns_of(added)))
    shown_added = cut(added, rest - columns_of(shown_removed))
    changed = [
        styled(f"[-{shown_removed}-]", REMOVED) if removed else "",
        styled(f"{{+{shown_added}+}}", ADDED) if added else "",
    ]
    return Styled.of(head, joined(" ", [part for part in (before, *changed, after) if part]))


def _fitting(text: str, width: int) -> str:
    """Return as many letters of the start of a text as fit."""
    fitting = text[:width]
    while columns_of(fitting) > width:
        fitting = fitting[:-1]
    return fitting
