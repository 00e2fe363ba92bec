"""Servers of the page that `dedup review` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from dedup.errors import DatabaseError
from dedup.report.html.serving import ReviewServer

TEXTS = {"sides": [["text", 0], ["words", 0]], "is_compared": True, "rows": [[["a ", "b"], ["a"]]]}


@dataclass
class Asked:
    """What a server was asked for."""

    marked: list[tuple[list[tuple[str, str]], bool]] = field(default_factory=list)
    read: list[tuple[str, str, str]] = field(default_factory=list)

    def mark(self, pairs: Sequence[tuple[str, str]], is_undone: bool) -> list[str]:
        self.marked.append((list(pairs), is_undone))
        return ["released"] * len(pairs)

    def read_texts(self, keys: tuple[str, str], run: str) -> dict[str, Any]:
        if keys == ("away", "away"):
            raise DatabaseError("the database is away")
        self.read.append((*keys, run))
        return TEXTS


@contextmanager
def serving(page: bytes = b"<p>page</p>", **given: Any) -> Iterator[tuple[ReviewServer, Asked]]:
    asked = Asked()
    with ReviewServer(page, asked.mark, **{"read_texts": asked.read_texts, **given}) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server, asked
        server.shutdown()
        thread.join()
