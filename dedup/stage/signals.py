"""The signals that the stage sends, before later pipelines see an item: with item, decision, response and spider."""

from __future__ import annotations

document_kept = object()
"""An item was examined and is passed on."""

document_dropped = object()
"""An item was examined and is dropped."""
