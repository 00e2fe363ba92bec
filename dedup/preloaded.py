"""What the server that worker processes are forked from loads once, for all of them."""

import gc

from dedup.blas import keep_single_threaded

# Before the following imports bring NumPy.
keep_single_threaded()

from dedup.extraction import analyse_html  # noqa: E402
from dedup.fingerprint.analysis import analyse  # noqa: E402

# A word in Chinese loads the dictionary; everything that is compiled is called once.
analyse("一 1")
analyse_html("<p>1</p>")

# A collection in a forked process would write to all of this, and copy it by that.
gc.freeze()
