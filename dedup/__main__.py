"""`python -m dedup`: the same as the command `dedup`."""

from dedup.cli.main import run_and_exit

run_and_exit()
