"""What the server that worker processes are forked from loads once, for all of them."""

import dedup.extraction  # noqa: F401
from dedup.fingerprint.tokens import load_dictionary

load_dictionary()
