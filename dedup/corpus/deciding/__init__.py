"""Signed batches to decisions, by documents known in arrays."""
