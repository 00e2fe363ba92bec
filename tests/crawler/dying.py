"""What kills a crawl, as kill -9 does, at a moment that only the program itself can name."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from crawler.pages.store import PageStore, Settled

_settle = PageStore.settle


def before_a_text_is_stored(store: PageStore, settled: Sequence[Settled]) -> Any:
    """Die when the text of a page is about to be stored, which is decided by then."""
    if any(each.page is not None for each in settled):
        os.kill(os.getpid(), signal.SIGKILL)
    return _settle(store, settled)


def before_a_copy_is_stored(store: PageStore, settled: Sequence[Settled]) -> Any:
    """Die when that is a copy's."""
    if any(each.page is not None and each.visit.url.endswith("/copy") for each in settled):
        os.kill(os.getpid(), signal.SIGKILL)
    return _settle(store, settled)
