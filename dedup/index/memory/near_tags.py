"""Which of 32 neighbouring tags are within one bit, by the wide registers.

A compiler does such a loop on wide registers by itself as long as it only counts; it gives up where
the loop should say which tags they are. Written as operations on vectors it becomes four
instructions on processors with AVX-512, and some more elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from dedup.index.memory.segment import TAGS_A_LINE

_TAG = ir.IntType(16)
_TAGS = ir.VectorType(_TAG, TAGS_A_LINE)
_EVERYWHERE = ir.Constant(ir.VectorType(ir.IntType(32), TAGS_A_LINE), [0] * TAGS_A_LINE)


def _near_tags(_typing: Any, _address: Any, _tag: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        # What a process maps or numpy allocates is aligned to the number, not to the line.
        tags = builder.load(builder.inttoptr(arguments[0], _TAGS.as_pointer()), align=2)
        first = builder.insert_element(
            ir.Constant(_TAGS, ir.Undefined), builder.trunc(arguments[1], _TAG), ir.Constant(ir.IntType(32), 0)
        )
        differing = builder.xor(tags, builder.shuffle_vector(first, ir.Constant(_TAGS, ir.Undefined), _EVERYWHERE))
        more = builder.and_(differing, builder.sub(differing, ir.Constant(_TAGS, [1] * TAGS_A_LINE)))
        is_near = builder.icmp_signed("==", more, ir.Constant(_TAGS, [0] * TAGS_A_LINE))
        return builder.zext(builder.bitcast(is_near, ir.IntType(TAGS_A_LINE)), ir.IntType(64))

    return types.uint64(types.int64, types.int64), generate


near_tags = cast("Callable[[int, int], Any]", intrinsic(_near_tags))
"""Say by a bit each which of the 32 tags at an address differ from a tag, the lowest 16 bits, in at most one bit."""
