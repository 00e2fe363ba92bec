"""Loaded once by the server that worker processes are forked from, for all of them."""

import gc

from dedup.workers.loading import keep_single_threaded, without_collections

keep_single_threaded()
with without_collections():
    import dedup.workers.pool  # noqa: F401 -- what all jobs run in
    from dedup.signature.pages import analyse_page

    analyse_page("<p>1</p>")

    # A collection in a forked process would write to all of this, and copy it by that.
    gc.freeze()
