"""Which drops are worth a look."""

from __future__ import annotations

from typing import Any

import pytest

from dedup.report.contents import FEWEST_PLACES, SURE_SIMILARITY, is_doubtful, order_of_doubt
from tests.report.html.reports import EXACT, SIMILAR, row


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"places": FEWEST_PLACES}, True),
        ({"places": FEWEST_PLACES - 1, "similarity": 0.56}, False),
        ({"places": None, "similarity": 0.56}, False),
        ({"similarity": 0.99, "rule": "short_alike"}, True),
        ({"places": 9, "kept": "marked"}, False),
        ({"places": 9, "verdict": SIMILAR, "kept": "similar"}, False),
        # The paper compares no words.
        ({"rule": "paper", "similarity": SURE_SIMILARITY - 0.01}, True),
        ({"rule": "paper", "similarity": SURE_SIMILARITY}, False),
        ({"similarity": 1.0, "verdict": EXACT}, False),
    ],
)
def test_doubtful(values: dict[str, Any], expected: bool) -> None:
    assert is_doubtful(row("https://news.example/a", **values)) is expected


def test_doubtful_drops_come_before_what_was_kept_and_that_before_sure_ones() -> None:
    rows = [
        row("sure", similarity=0.8),
        row("exact", verdict=EXACT, similarity=1.0),
        row("kept", verdict=SIMILAR, similarity=0.5, kept="similar"),
        row("near", similarity=0.7, distance=2, places=3),
        row("far", similarity=0.7, distance=9, places=3),
    ]
    assert [each.dropped for each in sorted(rows, key=order_of_doubt)] == ["far", "near", "kept", "sure", "exact"]
