"""Functions that only compiled functions can call."""

from __future__ import annotations

import pytest

from dedup.compiled import compiled, inner


@inner
def doubled(number: int) -> int:
    return 2 * number


@compiled
def quadrupled(number: int) -> int:
    return doubled(doubled(number))


def test_compiled_functions_call_it() -> None:
    assert quadrupled(3) == 12


@pytest.mark.parametrize("is_compiled", [False, True])
def test_python_is_told_that_it_cannot(*, is_compiled: bool) -> None:
    if is_compiled:
        quadrupled(3)
    with pytest.raises(TypeError, match="doubled: only compiled functions can call it"):
        doubled(3)
