"""The old place of `dedup.DuplicateLinksMiddleware`, which settings may go on naming."""

from dedup.stage.spidermiddlewares import DuplicateLinksMiddleware

__all__ = ["DuplicateLinksMiddleware"]
