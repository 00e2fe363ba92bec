"""The signals of the stage, for `crawler.signals.connect`.

Both are sent as soon as the verdict on an item is there, before later pipelines see it, with the arguments `item`,
`decision` (`dedup.Decision`), `response` (None where it is not known) and `spider`.
"""

document_kept = object()
"""An item was examined and is passed on."""

document_dropped = object()
"""An item was examined and is dropped."""
