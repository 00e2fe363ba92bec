"""A browser for the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browser import open_chromium
from tests.report.html.browsing import OpenFile, Seen


# As long as it is open, its event loop runs, and tests of other modules begin one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_chromium() as chromium:
        yield chromium


@pytest.fixture
def open_file(browser: Any) -> Iterator[OpenFile]:
    contexts = []

    def open_it(path: Path, before: str = "", **options: Any) -> Seen:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        seen = Seen(context.new_page())
        if before:
            seen.page.add_init_script(before)
        seen.page.goto(path.as_uri())
        seen.page.wait_for_selector("html[data-ready]")
        return seen

    yield open_it
    for context in contexts:
        context.close()
