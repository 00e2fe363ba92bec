"""Where the signature of an item is made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from scrapy.utils.test import get_crawler

from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.signature.schemes import find_scheme
from dedup.signature.signing import make_signature
from dedup.stage.crawl_run import CrawlRun
from dedup.stage.examiner import Examiner
from dedup.stage.item_settings import ItemSettings
from dedup.stage.items import ItemContent
from dedup.workers.pool import WorkerPool
from tests.texts import document


class Workers:
    """Counts what is sent to workers, and does it."""

    def __init__(self) -> None:
        self.sent = 0

    async def run(self, function: Callable[..., Any], *arguments: object) -> Any:
        self.sent += 1
        return function(*arguments)


@pytest.mark.parametrize(("words", "scheme"), [(300, "words"), (300, "pairs"), (30_000, "words")])
def test_texts_are_sent_to_no_worker(words: int, scheme: str) -> None:
    workers, text = Workers(), document(words)
    run, pool = cast("CrawlRun", None), cast("WorkerPool", workers)
    examiner = Examiner(get_crawler(), DedupSettings(scheme=scheme), ItemSettings(), run, pool, behind=[])
    signed = asyncio.run(examiner.analysed(Document("key", None), ItemContent(text)))
    assert signed is not None
    assert signed.signature is not None
    assert signed.signature.fingerprint == make_signature(text, find_scheme(scheme)).fingerprint
    assert not workers.sent
