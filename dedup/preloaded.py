"""What the server that worker processes are forked from loads once, for all of them."""

import gc

import dedup.extraction  # noqa: F401
from dedup.fingerprint.analysis import analyse

# A word in Chinese loads the dictionary; everything that is compiled is called once.
analyse("一 1")

# A collection in a forked process would write to all of this, and copy it by that.
gc.freeze()
