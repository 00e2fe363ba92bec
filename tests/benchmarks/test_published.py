"""Published fingerprints that `dedup.simhash` has no part of its own for."""

from __future__ import annotations

import pytest

from benchmarks.published import SCHEMES, fnv1a_of_listing, keywords_of
from dedup.simhash import distance
from tests.texts import CHINESE, ENGLISH


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("共识", "-100111011110101100010001110001101111111001011110110111001001001"),
        ("算法", "-100101110011001111101110111100011001110011011000110110100100111"),
        ("区块", "0010111010111100010001101010101101101110011011010011111111100101"),
        ("链", "0111111001101010001101110001101110011110001011000010101011110001"),
    ],
)
def test_the_go_listing_takes_the_minus_sign_for_a_one(text: str, printed: str) -> None:
    assert f"{fnv1a_of_listing(text):064b}" == printed.replace("-", "1")


def test_distance_of_ferd_simhash() -> None:
    a, b = (SCHEMES["ferd-sha1"].fingerprint(f"My voice is my {end}.") for end in ("password", "passport"))
    assert distance(a, b) == 27


def test_ferd_simhash_never_reads_the_first_and_last_byte() -> None:
    assert len({SCHEMES["ferd-md5"].fingerprint(text) for text in ("abcdef", "xbcdef", "abcdex")}) == 1


@pytest.mark.parametrize(("bytes_", "keywords"), [(0, 5), (719, 5), (720, 6), (23999, 199), (24000, 200), (10**6, 200)])
def test_how_many_keywords_yanyiwu_takes(bytes_: int, keywords: int) -> None:
    assert keywords_of("a" * bytes_) == keywords


def test_fingerprints_never_change() -> None:
    # What jieba makes of a text is jieba's.
    found = {
        name: [f"{SCHEMES[name].fingerprint(text):x}" for text in (ENGLISH, CHINESE)] for name in sorted(FINGERPRINTS)
    }
    assert found == FINGERPRINTS


FINGERPRINTS = {
    "bigrams64": ["f3953f3b0d26c6d8", "d907674f59ba9175"],
    "counted-words": ["608f3ccdc98b0e19", "3d021009d174dbb4"],
    "ferd-md5": ["cf909ed7759a4e12e373ecac073ec7b8", "ca758b2c89e1d39514ea1de338179ca0"],
    "ferd-sha1": ["32f8a2ea5730429c6788ded91fd1617fa34d2853", "697aad240d7b8776cdd27dbc0020b41bef9593d0"],
    "python128": ["200a03ffd7ab3cea5eb", "401ed75faec07dd0a8709e2f77792d8f"],
    "python64": ["a03ffd7ab3cea5eb", "a8709e2f77792d8f"],
}
