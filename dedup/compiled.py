"""Functions that are compiled to machine code when they are first called, and kept by numba for other processes.

Crawls do without: who imports this module has many texts to compare.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import caching, event
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])

# numba declares no types for these, or others.
_types: Any = types
_dispatcher: Any = CPUDispatcher
_caching: Any = caching
_event: Any = event

_OPTIONS = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}
_PACKAGE = Path(__file__).parent

KEY = np.uint64(secrets.randbits(64) | 1)
"""Where hash tables have their numbers: another place in each process, so that nobody can make numbers that crowd."""

BLOCK = 64
"""How many bytes are looked at; all of them must be there."""

_BITS = ir.IntType(BLOCK)
_BYTES = ir.VectorType(ir.IntType(8), BLOCK)

Mask = Callable[[NDArray[np.uint8], np.uint64, int], np.uint64]


class _Function(_dispatcher):  # type: ignore[misc]
    """A function of which compiled callers share what is compiled.

    Of each number that is written out in a call numba makes a type of its own, and compiles the function for it anew.
    """

    def get_call_template(self, args: Sequence[Any], kws: dict[str, Any]) -> Any:
        return super().get_call_template([_types.unliteral(each) for each in args], kws)


class _Inner(_Function):
    def __call__(self, *_arguments: object, **_named: object) -> Any:
        # numba would jump to nowhere.
        raise TypeError(f"{self.py_func.__qualname__}: only compiled functions can call it")


@cache
def sources_digest(package: Path = _PACKAGE) -> str:
    """Return what changes with any module whose functions or constants are compiled."""
    paths = [*package.glob("*.py"), *(package / "signature").glob("*.py")]
    paths += [path for path in package.rglob("*.py") if b"from dedup.compiled import" in path.read_bytes()]
    return blake2b(b"".join(path.read_bytes() for path in sorted(set(paths))), digest_size=8).hexdigest()


class _Stamped:
    """Tells numba what has changed: by itself it looks at the file of a function alone, not at what that imports."""

    def get_source_stamp(self) -> str:
        return sources_digest()


class _Files(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [  # noqa: RUF012 -- numba's
        type(each.__name__, (_Stamped, each), {})
        for each in _caching.CompileResultCacheImpl._locator_classes  # noqa: SLF001
    ]


class _CompiledCache(_caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _Files

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(signature, target_context)
        except (OSError, EOFError, UnpicklingError):  # another user's, or cut off by a power cut
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError:  # read only, full: then it is compiled again by whoever needs it
            self.disable()


def compiled(function: F) -> F:
    """Compile a function on numbers and arrays, once for all processes.

    numba keeps the machine code in `NUMBA_CACHE_DIR`, beside the module, or in the user's folder for caches; where none
    of these can be written, every process compiles for itself.
    """
    dispatcher: Any = _Function(function, targetoptions=_OPTIONS)
    with suppress(RuntimeError):  # no folder can be written
        dispatcher._cache = _CompiledCache(function)  # noqa: SLF001 -- what njit(cache=True) does with a cache of its own
    return cast("F", dispatcher)


def inner(function: F) -> F:
    """Compile a function that only compiled functions call, whenever one of these is compiled.

    What takes its arguments from Python takes as long to compile as a short function, and is left out.
    """
    return cast("F", _Inner(function, targetoptions={**_OPTIONS, "no_cpython_wrapper": True}))


class _FirstCompiled(_event.Listener):  # type: ignore[misc]
    def __init__(self, report: Callable[[], None]) -> None:
        self._report: Callable[[], None] | None = report

    def on_start(self, event: Any) -> None:
        report, self._report = self._report, None
        if report is not None:
            report()

    def on_end(self, event: Any) -> None:
        pass


def when_first_compiled(report: Callable[[], None]) -> None:
    """Have a function called once before anything is compiled in this process: it takes some seconds."""
    _event.register("numba:compile", _FirstCompiled(report))


@inner
def ones(bits: np.uint64) -> np.uint64:
    """Count the bits that are 1; compilers know these four lines and make one instruction of them."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inner
def slot_of(number: np.uint64, key: np.uint64, mask: np.uint64) -> np.uint64:
    """Return where a hash table has a number: the topmost bits of a product, that any two rarely share.

    M. Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair problem", 1997.

    Args:
        number: the number.
        key: `KEY`.
        mask: of the slots, a power of two of them, all but one.
    """
    # In a word of 64 bits nothing can be shifted by 64.
    return (number * key) >> np.uint64(1) >> (np.uint64(63) - ones(mask))


@inner
def signed(number: Any) -> int:
    """Return a whole number of any type as one of 64 bits with a sign: mixed with those without, it would turn real."""
    return int(np.int64(number))


@inner
def eight_bytes(data: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    """Return eight bytes as one number, the first the lowest."""
    # Written out, and with an index that cannot be negative, this becomes one instruction.
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    )


@inner
def put_eight_bytes(target: NDArray[np.uint8], at: np.uint64, number: np.uint64) -> None:
    """Write what `eight_bytes` returns."""
    # Likewise.
    target[at] = number & np.uint64(0xFF)
    target[at + np.uint64(1)] = (number >> np.uint64(8)) & np.uint64(0xFF)
    target[at + np.uint64(2)] = (number >> np.uint64(16)) & np.uint64(0xFF)
    target[at + np.uint64(3)] = (number >> np.uint64(24)) & np.uint64(0xFF)
    target[at + np.uint64(4)] = (number >> np.uint64(32)) & np.uint64(0xFF)
    target[at + np.uint64(5)] = (number >> np.uint64(40)) & np.uint64(0xFF)
    target[at + np.uint64(6)] = (number >> np.uint64(48)) & np.uint64(0xFF)
    target[at + np.uint64(7)] = number >> np.uint64(56)


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


equal_to = cast("Mask", intrinsic(_mask_where("==")))
"""Of an array, from a place on: bit i says whether byte i is so much."""

below = cast("Mask", intrinsic(_mask_where("<")))
"""Likewise, whether it is less."""
