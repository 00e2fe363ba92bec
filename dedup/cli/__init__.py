"""The command line: `dedup NAME ...`; each command is a module of this package.

Its `add_arguments` says what it takes, and its `run` returns the exit status: 0, unless it says otherwise. What cannot
be done it raises as a `DedupError`.
"""
