"""Digests that are made side by side are those of `hashlib`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.fingerprint.blake2b import BLOCK, digests_of
from dedup.fingerprint.signature import digest


def digests_side_by_side(texts: list[bytes]) -> list[bytes]:
    padded = [text.ljust(max(1, -(-len(text) // BLOCK)) * BLOCK, b"\0") for text in texts]
    sizes = np.array([len(text) for text in texts], np.uint64)
    starts = np.cumsum([0, *map(len, padded)])[: len(texts)].astype(np.uint64)
    return [row.tobytes() for row in digests_of(np.frombuffer(b"".join(padded), np.uint8), starts, sizes)]


@given(st.lists(st.binary(max_size=300) | st.integers(0, 2000).map(lambda size: b"a" * size), max_size=30))
def test_digests_of_any_texts(texts: list[bytes]) -> None:
    assert digests_side_by_side(texts) == [digest(text) for text in texts]


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 255, 256, 257, 5000])
def test_digests_of_texts_of_some_size(size: int) -> None:
    texts = [bytes(range(256)) * 20, b"", bytes([size % 251]) * size]
    texts = [text[:size] if len(text) > size else text for text in texts] * 5
    assert digests_side_by_side(texts) == [digest(text) for text in texts]
