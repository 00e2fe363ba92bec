"""Loaded once by the server that worker processes are forked from, for all of them."""

import gc

from dedup.compiled_cache import is_in_use, is_kept, put_off
from dedup.workers.loading import keep_single_threaded, without_collections

keep_single_threaded()
with without_collections():
    import dedup.workers.pool  # noqa: F401 -- what all jobs run in
    from dedup.signature.extraction import analyse_html
    from dedup.signature.signing import make_signature

    if not is_kept("signatures"):
        # To compile it here would keep all of them waiting.
        put_off()
    # A word in Chinese loads the dictionary, which takes a second where it is not kept as compiled code has it.
    make_signature("一 1" if is_in_use() else "1")
    analyse_html("<p>1</p>")

    # A collection in a forked process would write to all of this, and copy it by that.
    gc.freeze()
