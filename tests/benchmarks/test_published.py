"""Published fingerprints that `dedup.simhash` has no part of its own for."""

from __future__ import annotations

import pytest

from benchmarks.published import SCHEMES, keywords_of
from tests.texts import CHINESE, ENGLISH


@pytest.mark.parametrize(("bytes_", "keywords"), [(0, 5), (719, 5), (720, 6), (23999, 199), (24000, 200), (10**6, 200)])
def test_how_many_keywords_yanyiwu_takes(bytes_: int, keywords: int) -> None:
    assert keywords_of("a" * bytes_) == keywords


def test_fingerprints_never_change() -> None:
    # What jieba makes of a text is jieba's.
    found = {name: [f"{SCHEMES[name](text):x}" for text in (ENGLISH, CHINESE)] for name in sorted(FINGERPRINTS)}
    assert found == FINGERPRINTS


FINGERPRINTS = {
    "bigrams64": ["f3953f3b0d26c6d8", "d907674f59ba9175"],
    "counted-words": ["608f3ccdc98b0e19", "3d021009d174dbb4"],
}
