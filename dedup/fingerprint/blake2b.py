"""Digests of many texts at once: BLAKE2b, eight texts side by side. RFC 7693.

Each step of the algorithm waits for the one before it, so that one text keeps a processor waiting; eight
texts go through the same steps, each in its lane of a vector. What numba makes of loops over lanes are no
vectors: the one function that needs them is written as operations on these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dedup.compiled import compiled
from dedup.fingerprint.signature import DIGEST_BYTES

BLOCK = 128
"""Of how many bytes a block consists; a text has at least one."""

_LANES = 8
_WORDS = 8
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, _LANES)
_ROUNDS = 12
_INITIAL = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
# No key, and one text after the other: fanout and depth are 1.
_PARAMETERS = np.uint64(0x01010000 | DIGEST_BYTES)
_ALL_BITS = np.uint64(2**64 - 1)
_ORDERS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)


@compiled
def digests_of(data: NDArray[np.uint8], starts: NDArray[np.uint64], sizes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the digests of texts, those of `dedup.fingerprint.signature.digest`.

    Args:
        data: the texts; behind each are zeros up to the end of its last block.
        starts: where each starts, shape (n,).
        sizes: how many bytes each has, shape (n,).

    Returns:
        Two words each, the first byte the lowest, shape (n, 2).
    """
    digests = np.empty((len(starts), 2), np.uint64)
    states = np.zeros(_WORDS * _LANES, np.uint64)
    # Of each lane: its text, where the next block is, how many bytes were read with it, whether it is the last.
    texts, places = np.full(_LANES, -1, np.int64), np.zeros(_LANES, np.uint64)
    counts, lasts = np.zeros(_LANES, np.uint64), np.zeros(_LANES, np.uint64)
    following = working = 0
    while True:
        for lane in range(_LANES):
            text = texts[lane]
            if text >= 0 and lasts[lane]:
                digests[text, 0], digests[text, 1] = states[lane], states[_LANES + lane]
                texts[lane] = text = -1
                working -= 1
            if text >= 0:
                places[lane] += np.uint64(BLOCK)
            elif following < len(starts):
                texts[lane] = text = following
                following += 1
                working += 1
                for word in range(_WORDS):
                    states[word * _LANES + lane] = _INITIAL[word]
                states[lane] ^= _PARAMETERS
                places[lane], counts[lane] = starts[text], 0
            else:
                # A lane without a text goes through some block, and nobody looks at what comes out.
                continue
            counts[lane] = min(counts[lane] + np.uint64(BLOCK), sizes[text])
            lasts[lane] = _ALL_BITS if counts[lane] == sizes[text] else np.uint64(0)
        if not working:
            return digests
        _compress(states, data, places, counts, lasts)


def _compress_of(_: Any, states: Any, data: Any, places: Any, counts: Any, lasts: Any) -> Any:
    """Make the function that takes each lane's state (word by word, all lanes of it) through one block.

    Its arguments: the states, the data, and of each lane the place of its block in these, how many bytes of
    its text were read with it, and all bits if it is the last.
    """
    return types.void(states, data, places, counts, lasts), _compression


def _compression(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    states, data, places, counts, lasts = (
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(signature.args, arguments, strict=True)
    )
    before = [_load(builder, states, word * _LANES) for word in range(_WORDS)]
    blocks = [builder.gep(data, [builder.load(builder.gep(places, [_WORD(lane)]))]) for lane in range(_LANES)]
    message = [
        word
        for half in (0, BLOCK // 2)
        for word in _transposed(builder, [_load(builder, block, half) for block in blocks])
    ]
    v = [*before, *(_splat(int(word)) for word in _INITIAL)]
    v[12] = builder.xor(v[12], _load(builder, counts, 0))
    v[14] = builder.xor(v[14], _load(builder, lasts, 0))
    for turn in range(_ROUNDS):
        words = [message[word] for word in _ORDERS[turn % len(_ORDERS)]]
        for i in range(4):
            _mix(builder, v, (i, 4 + i, 8 + i, 12 + i), words[2 * i : 2 * i + 2])
        for i in range(4):
            places_of_v = (i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
            _mix(builder, v, places_of_v, words[8 + 2 * i : 10 + 2 * i])
    for word in range(_WORDS):
        after = builder.xor(before[word], builder.xor(v[word], v[word + 8]))
        builder.store(after, _vector_at(builder, states, word * _LANES), align=1)
    return context.get_dummy_value()


def _mix(builder: Any, v: list[Any], of: tuple[int, int, int, int], words: list[Any]) -> None:
    a, b, c, d = of
    for word, first, second in zip(words, (32, 16), (24, 63), strict=True):
        v[a] = builder.add(builder.add(v[a], v[b]), word)
        v[d] = _rotated(builder, builder.xor(v[d], v[a]), first)
        v[c] = builder.add(v[c], v[d])
        v[b] = _rotated(builder, builder.xor(v[b], v[c]), second)


def _rotated(builder: Any, vector: Any, right: int) -> Any:
    return builder.or_(builder.lshr(vector, _splat(right)), builder.shl(vector, _splat(64 - right)))


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return eight vectors of which the first has the first element of each, and so on."""
    half = _LANES // 2
    for _ in range(3):
        mixed = []
        for place in range(half):
            for first in (0, half):
                order = [element + _LANES * row for element in range(first, first + half) for row in (0, 1)]
                mask = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), order)
                mixed.append(builder.shuffle_vector(rows[place], rows[half + place], mask))
        rows = mixed
    return rows


def _load(builder: Any, pointer: Any, at: int) -> Any:
    return builder.load(_vector_at(builder, pointer, at), align=1)


def _vector_at(builder: Any, pointer: Any, at: int) -> Any:
    return builder.bitcast(builder.gep(pointer, [_WORD(at)]), _VECTOR.as_pointer())


def _splat(number: int) -> Any:
    return ir.Constant(_VECTOR, [number] * _LANES)


_compress = cast("Callable[..., None]", intrinsic(_compress_of))
