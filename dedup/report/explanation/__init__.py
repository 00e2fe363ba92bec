"""Explanations: why two documents are duplicates, or are not."""

from __future__ import annotations
