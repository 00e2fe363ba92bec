"""Documents to signed batches, in worker processes."""
