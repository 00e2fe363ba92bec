"""The short form of `python -m benchmarks kill`: a crawl that is killed and continued loses nothing."""

from __future__ import annotations

import pytest

from benchmarks import kill

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

# A crawl can be over before the moment at which it was to be killed for the last time.
TOO_FAST = ("it was killed ", "the server was stopped ")


def assert_identical(output: str) -> None:
    *found, verdict = output.splitlines()[2:]
    assert [line for line in found if not line.startswith(TOO_FAST)] == [], output
    assert verdict == ("differs" if found else "identical"), output
    assert "killed 0 times" not in output


def test_killed_crawl_is_identical_to_one_that_was_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    kill.run(pages=40, kills=2, seed=2)
    assert_identical(capsys.readouterr().out)


def test_killed_workers_whose_server_restarts_end_with_the_same_database(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kill.run(pages=80, kills=2, seed=3, workers=2, restarts=1)
    assert_identical(capsys.readouterr().out)
