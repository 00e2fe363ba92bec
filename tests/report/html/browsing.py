"""Pages in Chromium, with everything that they log and ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.browser import WAY_OUT, find_chromium

needs_chromium = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason=f"needs Chromium: {WAY_OUT}"),
]


KEYS = "#list .row .differs + .line .path"


class Seen:
    """A page that was opened, and everything that it logged and asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.messages: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def keys(self) -> list[str]:
        texts: list[str] = self.page.locator(KEYS).all_text_contents()
        return [text.removeprefix("/") for text in texts]

    def view(self, name: str) -> None:
        self.page.click(f"#tab-{name}")

    def open_filters(self) -> None:
        self.page.click("#more-filters summary")

    def open_row(self, place: int) -> None:
        self.page.click(f"#list .row >> nth={place}", position={"x": 10, "y": 10})


OpenFile = Callable[..., Seen]
"""Opens a file, with options of a browser's context, and a script that runs `before` the page's own."""
