"""Strange inputs do no harm to what is compiled."""

from __future__ import annotations

import pytest

from tests.fuzzing import has_compiler, run


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(not has_compiler(), reason="there is no C compiler with sanitizers")
def test_nothing_is_read_or_written_out_of_place() -> None:
    done = run(3_000)
    assert done.returncode == 0, done.stderr[-3_000:]
