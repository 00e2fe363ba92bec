"""Which of 64 bytes are of some kind, by the wide registers: one bit each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

BLOCK = 64
"""How many bytes are looked at; all of them must be there."""

_BITS = ir.IntType(BLOCK)
_BYTES = ir.VectorType(ir.IntType(8), BLOCK)


def _mask_where(comparison: str) -> Any:
    def make(_typing: Any, data: Any, at: Any, byte: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = context.make_array(data)(context, builder, arguments[0]).data
            pointer = builder.bitcast(builder.gep(start, [arguments[1]]), _BYTES.as_pointer())
            number = builder.trunc(arguments[2], ir.IntType(8))
            single = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), number, ir.IntType(32)(0))
            every = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
            bounds = builder.shuffle_vector(single, ir.Constant(_BYTES, ir.Undefined), every)
            return builder.bitcast(builder.icmp_unsigned(comparison, builder.load(pointer, align=1), bounds), _BITS)

        return types.uint64(data, types.uint64, types.int64), generate

    return make


Mask = Callable[[NDArray[np.uint8], np.uint64, int], np.uint64]

equal_to = cast("Mask", intrinsic(_mask_where("==")))
"""Of an array, from a place on: bit i says whether byte i is so much."""

below = cast("Mask", intrinsic(_mask_where("<")))
"""Likewise, whether it is less."""
