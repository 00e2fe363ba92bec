"""Which versions of Scrapy the stage works with."""

from __future__ import annotations

import re

import scrapy

OLDEST = (2, 14)


def require_scrapy() -> None:
    """End the process if its Scrapy is too old, before anything is imported that it does not have.

    Raises:
        SystemExit: with status 1 and one line that says what to do.
    """
    numbers = re.match(r"(\d+)\.(\d+)", scrapy.__version__)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SystemExit(
            f"error: dedup needs Scrapy {oldest} or newer, and this is {scrapy.__version__}:"
            f" pip install 'scrapy>={oldest}', or take dedup.DedupAddon out of ADDONS"
        )
