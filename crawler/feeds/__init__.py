"""Feeds: that a file is never spoilt, that a run which is continued completes its feeds, that a failure is told."""

from crawler.feeds.extension import Feeds

__all__ = ["Feeds"]
