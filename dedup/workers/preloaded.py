"""What the server that worker processes are forked from loads once, for all of them."""

import gc

from dedup.workers.loading import keep_single_threaded, without_collections

keep_single_threaded()
with without_collections():
    from dedup.signature.extraction import analyse_html
    from dedup.signature.signature import make_signature

    # A word in Chinese loads the dictionary; compiled code is loaded when it is called.
    make_signature("一 1")
    analyse_html("<p>1</p>")

    # A collection in a forked process would write to all of this, and copy it by that.
    gc.freeze()
