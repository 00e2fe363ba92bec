"""Which links are not followed: those of copies, unless what they are copies of has none."""

from __future__ import annotations

from crawler.pages.pipeline import StoragePipeline
from dedup.stage.pending import ItemPage
from dedup.stage.spidermiddlewares import DuplicateLinksMiddleware


class PageLinksMiddleware(DuplicateLinksMiddleware):
    """The same for the pages of a crawl: of a PDF no links are followed, so those of a page of the same text are."""

    async def is_duplicate(self, page: ItemPage) -> bool:
        """Return whether the links of a page are those of another that was seen, once its items are decided."""
        revisits = StoragePipeline.revisits_of(self._crawler)
        is_duplicate = await super().is_duplicate(page)
        return is_duplicate and (revisits is None or not await revisits.is_pdf(page.original))
