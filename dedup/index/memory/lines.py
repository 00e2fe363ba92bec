"""Which of several neighbouring entries have a tag within one bit, by the wide registers.

A compiler does such a loop on wide registers by itself as long as it only counts; it gives up where
the loop should say which entries they are. Written as operations on vectors it becomes four
instructions for 32 tags on processors with AVX-512, and some more elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

TAGS_A_LINE = 32
FINGERPRINTS_A_LINE = 8

_SHORT, _LONG = ir.IntType(16), ir.IntType(64)


def _splat(builder: Any, number: Any, length: int) -> Any:
    """Return a vector with this number everywhere."""
    vector = ir.VectorType(number.type, length)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), length), [0] * length)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), every)


def _load(builder: Any, address: Any, kind: Any, length: int) -> Any:
    # What a process maps or numpy allocates is aligned to the number, not to the line.
    pointer = builder.inttoptr(address, ir.VectorType(kind, length).as_pointer())
    return builder.load(pointer, align=kind.width // 8)


def _at_most_one_bit(builder: Any, differing: Any, length: int) -> Any:
    """Return a number whose bit i says whether the number i of a vector has at most one bit."""
    one = _splat(builder, ir.Constant(differing.type.element, 1), length)
    zero = _splat(builder, ir.Constant(differing.type.element, 0), length)
    more = builder.and_(differing, builder.sub(differing, one))
    bits = builder.bitcast(builder.icmp_signed("==", more, zero), ir.IntType(length))
    return builder.zext(bits, _LONG)


def _near_tags(_typing: Any, _address: Any, _tag: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        tags = _load(builder, arguments[0], _SHORT, TAGS_A_LINE)
        tag = _splat(builder, builder.trunc(arguments[1], _SHORT), TAGS_A_LINE)
        return _at_most_one_bit(builder, builder.xor(tags, tag), TAGS_A_LINE)

    return types.uint64(types.int64, types.uint64), generate


def _near_fingerprints(_typing: Any, _address: Any, _fingerprint: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        fingerprints = _load(builder, arguments[0], _LONG, FINGERPRINTS_A_LINE)
        fingerprint = _splat(builder, arguments[1], FINGERPRINTS_A_LINE)
        half = _splat(builder, ir.Constant(_LONG, 32), FINGERPRINTS_A_LINE)
        differing = builder.lshr(builder.xor(fingerprints, fingerprint), half)
        return _at_most_one_bit(builder, differing, FINGERPRINTS_A_LINE)

    return types.uint64(types.int64, types.uint64), generate


near_tags = cast("Callable[[int, Any], Any]", intrinsic(_near_tags))
"""Say by a bit each which of the 32 tags at an address differ from a tag in at most one bit."""

near_fingerprints = cast("Callable[[int, Any], Any]", intrinsic(_near_fingerprints))
"""Say by a bit each which of the 8 fingerprints at an address differ in at most one bit of their upper halves."""
