from __future__ import annotations

import pytest

from dedup.signature.signature import distance


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (851459198, 847263864, 4),
        (851459198, 984968088, 16),
        (847263864, 984968088, 12),
        (0b00101110, 0b00001111, 2),
        (0b100010110110, 0b110001110011, 5),
        (0b100010110110, 0b110010110111, 2),
        (0, 0, 0),
        (0, 2**64 - 1, 64),
        (2**63, 0, 1),
    ],
)
def test_distance_of_published_examples(a: int, b: int, expected: int) -> None:
    assert distance(a, b) == distance(b, a) == expected
