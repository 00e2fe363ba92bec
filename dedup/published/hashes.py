"""Hash functions of published simhashes, from a feature's bytes to an integer of so many bits.

Where a width is narrower than what a function yields, its lowest bits are taken; digests of bytes
are read as big-endian integers.
"""

from __future__ import annotations

from hashlib import md5, sha1

import xxhash

from dedup.signature.parts import NamedHash, lowest_bits


def fnv1a(data: bytes, bits: int) -> int:
    """Hash by FNV-1a: G. Fowler and others, "The FNV Non-Cryptographic Hash Algorithm", IETF, section 2."""
    prime, value = _FNV[bits]
    mask = (1 << bits) - 1
    for byte in data:
        value = (value ^ byte) * prime & mask
    return value


_FNV = {
    32: (2**24 + 0x193, 0x811C9DC5),
    64: (2**40 + 0x1B3, 0xCBF29CE484222325),
    128: (2**88 + 0x13B, 0x6C62272E07BB014262B821756295C58D),
}
"""Prime and offset basis of each width, from the same document."""


def fnv1a_of_listing(data: bytes, bits: int) -> int:
    """Hash by FNV-1a 64 as the Go article's listing reads it, for compatibility alone: it is wrong.

    The listing formats a signed integer in binary. A hash from 2**63 on becomes a minus sign and the
    63 digits of its magnitude, and the listing takes any character other than 0 for a 1.
    """
    value = fnv1a(data, bits)
    if value < 1 << 63:
        return value
    return 1 << 63 | -value & (1 << 63) - 1


def jenkins(data: bytes, bits: int) -> int:
    """Hash by lookup3 (B. Jenkins, 2006, public domain), started from 0.

    64 bits are c and b of `hashlittle2`, c the higher half, as in yanyiwu/simhash; 32 bits are c.
    """
    a = b = c = 0xDEADBEEF + len(data) & _MASK32
    last = max(0, (len(data) - 1) // 12 * 12)
    for at in range(0, last, 12):
        a, b, c = _mix(*_add_block(a, b, c, data[at : at + 12]))
    if data:
        a, b, c = _final(*_add_block(a, b, c, data[last:]))
    return c << 32 | b if bits == 64 else c


_MASK32 = 2**32 - 1


def _add_block(a: int, b: int, c: int, block: bytes) -> tuple[int, int, int]:
    x, y, z = (int.from_bytes(block[at : at + 4], "little") for at in (0, 4, 8))
    return a + x & _MASK32, b + y & _MASK32, c + z & _MASK32


def _rotate32(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK32


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = a - c & _MASK32 ^ _rotate32(c, bits)
        # Each step is the one before it with the names moved on by one.
        a, b, c = b, c + b & _MASK32, a
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _rotate32(b, bits) & _MASK32
        a, b, c = b, c, a
    return c, a, b


def python2(data: bytes, bits: int) -> int:
    """Hash as CPython 2 does a byte string, not randomised, in words of any width.

    From the class SimHash of the acdreamers article on simhash; at 64 bits it is CPython's own.
    """
    if not data:
        return 0
    mask = (1 << bits) - 1
    value = data[0] << 7
    for byte in data:
        value = value * 1000003 & mask ^ byte
    return value ^ len(data)


def _xxh3(data: bytes, bits: int) -> int:
    return xxhash.xxh3_128_intdigest(data) if bits == 128 else lowest_bits(xxhash.xxh3_64_intdigest(data), bits)


def _md5(data: bytes, bits: int) -> int:
    return lowest_bits(int.from_bytes(md5(data, usedforsecurity=False).digest()), bits)


def _sha1(data: bytes, bits: int) -> int:
    return lowest_bits(int.from_bytes(sha1(data, usedforsecurity=False).digest()), bits)


HASHES = {
    "xxh3": NamedHash((32, 64, 128), _xxh3),
    "md5": NamedHash((32, 64, 128), _md5),
    "sha1": NamedHash((32, 64, 128, 160), _sha1),
    "fnv1a": NamedHash((32, 64, 128), fnv1a),
    "fnv1a-listing": NamedHash((64,), fnv1a_of_listing),
    "jenkins": NamedHash((32, 64), jenkins),
    "python2": NamedHash((32, 64, 128), python2),
}
"""The hash functions by the names that schemes call them, besides `mmh3`."""
