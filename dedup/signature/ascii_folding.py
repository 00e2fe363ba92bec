"""Normalising 64 ASCII bytes at once, by the wide registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from dedup.compiled.byte_masks import BLOCK
from dedup.signature.characters import DIGIT, START

_BYTES = ir.VectorType(ir.IntType(8), BLOCK)
_LOWER = 0x20


def _fold(_typing: Any, data: Any, at: Any, normalised: Any, classes: Any, to: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        def block_of(kind: Any, array: Any, place: Any) -> Any:
            start = context.make_array(kind)(context, builder, array).data
            return builder.bitcast(builder.gep(start, [place]), _BYTES.as_pointer())

        source, target = block_of(data, *arguments[:2]), block_of(normalised, arguments[2], arguments[4])
        characters = builder.load(source, align=1)
        upper = _where(builder, characters, "AZ", _LOWER)
        lower = builder.or_(characters, upper)
        kinds = builder.or_(_where(builder, lower, "az", START), _where(builder, lower, "09", START | DIGIT))
        builder.store(lower, target, align=1)
        builder.store(kinds, block_of(classes, *arguments[3:]), align=1)
        return context.get_dummy_value()

    return types.void(data, types.uint64, normalised, classes, types.uint64), generate


def _where(builder: Any, characters: Any, ends: str, byte: int) -> Any:
    """Return this byte where there is a character from the first of two to the second, elsewhere 0."""
    first, last = map(ord, ends)
    above = builder.sub(characters, _every(first))
    return builder.select(builder.icmp_unsigned("<=", above, _every(last - first)), _every(byte), _every(0))


def _every(byte: int) -> Any:
    return ir.Constant(_BYTES, [byte] * BLOCK)


fold_block = cast("Callable[..., None]", intrinsic(_fold))
"""Write a block of plain ASCII, as `fold_text` does.

Its arguments: the text, where in it the block begins, what takes the normalised text and the classes, and
where in these it goes.
"""
