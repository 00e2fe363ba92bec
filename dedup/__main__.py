"""`python -m dedup`: the same as the command `dedup`."""

from dedup.cli.main import run_and_exit

if __name__ == "__main__":
    run_and_exit()
