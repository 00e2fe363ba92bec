"""What the documentation says is so, and the check of it finds what is not."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

import pytest

from tests.docs import check
from tests.docs.commands import WrongCommandError


@pytest.mark.parametrize("checked", check.CHECKS, ids=lambda each: each.__name__)
def test_nothing_is_wrong(checked: Callable[[], Iterator[str]]) -> None:
    assert list(checked()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "dedup fil x.jsonl",
        "dedup files x.jsonl --no-such-option",
        "dedup files",
        "scrapy duplicate",
        "dedup duplicates --no-such-option",
        "scrapy crawl site -a pages=3",
        "scrapy crawl site -s DEDUP_NO=1",
        "make no-such-target",
        "make crawl NO=1",
        "pip install 'scrapy-neardup[no]'",
        "python -m benchmarks no",
        "python -m benchmarks files --no",
        "export DEDUP_NO=1",
        "rm -r x",
    ],
)
def test_a_wrong_command_is_found(wrong: str) -> None:
    with pytest.raises(WrongCommandError):
        check.check(shlex.split(wrong))
