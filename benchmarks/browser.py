"""Chromium as the system has it, that asks nobody for anything by itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WAY_OUT = "apt-get install chromium fonts-noto-cjk"

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--enable-precise-memory-info",
)


# Without a font of them all are the same box.
_ARE_DRAWN = """texts => {
  const drawn = texts.map(text => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    context.font = "40px sans-serif";
    context.fillText(text, 0, 50);
    return canvas.toDataURL();
  });
  return new Set(drawn).size === texts.length;
}"""


def find_chromium() -> str | None:
    """Return where Chromium is; None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def draws(page: Page, texts: str) -> bool:
    """Return whether each of some characters is drawn as another picture, so that there is a font of them."""
    return bool(page.evaluate(_ARE_DRAWN, list(texts)))


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start it without a window, and with nothing that it knows from before.

    Raises:
        ValueError: there is none.
    """
    path = find_chromium()
    if path is None:
        raise ValueError(f"there is no Chromium: {WAY_OUT}")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- of requirements/dev.txt

    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=path, args=list(_OPTIONS))) as browser,
    ):
        yield browser
