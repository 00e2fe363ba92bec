from __future__ import annotations

import hashlib

import mmh3
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from dedup.published.hashes import HASHES, fnv1a, fnv1a_of_listing, jenkins, python2
from dedup.signature import parts

ALL = parts.HASHES | HASHES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cbf29ce484222325"),
        ("a", "af63dc4c8601ec8c"),
        ("foobar", "85944171f73967e8"),
        ("共识", "b10a771c80d091b7"),
        ("算法", "b4660887319392d9"),
        ("区块", "2ebc46ab6e6d3fe5"),
        ("链", "7e6a371b9e2c2af1"),
    ],
)
def test_fnv1a_of_64_bits(text: str, expected: str) -> None:
    assert f"{fnv1a(text.encode(), 64):016x}" == expected


def test_fnv1a_of_other_widths() -> None:
    assert fnv1a(b"foobar", 32) == 0xBF9CF968
    assert fnv1a(b"", 128) == 0x6C62272E07BB014262B821756295C58D
    assert fnv1a(b"foobar", 128) == 0x343E1662793C64BF6F0D3597BA446F18


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
    assert f"{fnv1a_of_listing(text.encode(), 64):064b}" == printed.replace("-", "1")


@given(st.binary())
def test_the_go_listing_reads_a_signed_integer(data: bytes) -> None:
    signed = fnv1a(data, 64) - (fnv1a(data, 64) >> 63 << 64)
    assert f"{signed:064b}".replace("-", "1") == f"{fnv1a_of_listing(data, 64):064b}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("蓝翔", 4456126642618087437),
        ("CEO", 15527884971851335464),
        ("升职", 12795442418582434293),
        ("加薪", 17469274401231235653),
        ("手扶拖拉机", 5143693181545528385),
        # From the self-test of lookup3.c.
        ("", 0xDEADBEEFDEADBEEF),
        ("Four score and seven years ago", 0x17770551CE7226E6),
    ],
)
def test_jenkins(text: str, expected: int) -> None:
    assert jenkins(text.encode(), 64) == expected
    assert jenkins(text.encode(), 32) == expected >> 32


@given(st.binary(min_size=1, max_size=40), st.integers(1, 100))
def test_jenkins_has_no_padding(data: bytes, zeros: int) -> None:
    assert jenkins(data, 64) != jenkins(data + bytes(zeros), 64)


def test_python2_is_what_cpython_2_7_prints() -> None:
    assert python2(b"test", 64) == 2314058222102390712
    assert python2(b"simhash of words", 64) == 627720182147272971
    assert python2(b"", 64) == 0


@given(st.binary(max_size=50))
def test_packages_and_digests(data: bytes) -> None:
    assert ALL["mmh3"].of(data, 64) == mmh3.hash64(data, signed=False)[0]
    assert ALL["mmh3"].of(data, 128) == int.from_bytes(mmh3.hash_bytes(data), "little")
    assert ALL["mmh3"].of(data, 32) == mmh3.hash(data, signed=False)
    assert HASHES["xxh3"].of(data, 64) == xxhash.xxh3_64_intdigest(data)
    assert HASHES["xxh3"].of(data, 128) == xxhash.xxh3_128_intdigest(data)
    assert f"{HASHES['md5'].of(data, 128):032x}" == hashlib.md5(data).hexdigest()
    assert f"{HASHES['sha1'].of(data, 160):040x}" == hashlib.sha1(data).hexdigest()
    assert f"{HASHES['sha1'].of(data, 64):016x}" == hashlib.sha1(data).hexdigest()[-16:]


@pytest.mark.parametrize(("name", "bits"), [(name, bits) for name in ALL for bits in ALL[name].widths])
def test_every_bit_of_every_width_is_used(name: str, bits: int) -> None:
    # The older functions spread a difference to the high bits only with the bytes that follow it.
    values = [ALL[name].of(b"%d and twenty bytes or more" % number, bits) for number in range(300)]
    assert all(0 <= value < 1 << bits for value in values)
    for bit in range(bits):
        assert {value >> bit & 1 for value in values} == {0, 1}
