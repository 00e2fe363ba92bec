"""Deduplication on Spark: corpora that fit no one machine. What is here needs the extra `spark`."""

from __future__ import annotations

from dedup.spark.deduplicating import Deduplicated, deduplicate
from dedup.spark.index import copy_index, load_index, save_index

__all__ = ["Deduplicated", "copy_index", "deduplicate", "load_index", "save_index"]
