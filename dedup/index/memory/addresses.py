"""Arrays by their addresses, for compiled functions.

Handing an array to a compiled function costs about as much as reading a table does, and an index
consists of many. So it hands over one table of addresses. Whoever makes such a table keeps the
arrays alive as long as the table is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dedup.compiled import inner


def _pointer(_typing: Any, _address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


def _prefetch(_typing: Any, _address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cast("Any", cgutils).get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # To be read, to stay in all caches, data.
        hints = (number(0), number(3), number(1))
        builder.call(function, (builder.inttoptr(arguments[0], cgutils.voidptr_t), *hints))
        return context.get_dummy_value()

    return types.none(types.int64), generate


_pointer_to = cast("Callable[[int], Any]", intrinsic(_pointer))

prefetch = cast("Callable[[int], None]", intrinsic(_prefetch))
"""Start reading the cache line at an address; any address will do."""


@inner
def array_at(address: int, kind: type[np.generic], length: int) -> NDArray[Any]:
    """Return the array of so many numbers of a kind that stands at an address."""
    array: NDArray[Any] = carray(_pointer_to(address), (length,), kind)
    return array
