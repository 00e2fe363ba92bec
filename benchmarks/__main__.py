"""`python -m benchmarks NAME`: run one of the measurements; without a name all that the README quotes."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measurements import MEASUREMENTS
from dedup.errors import DedupError


def main() -> int:
    """Run the measurement named on the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="measurement", required=True)
    for each in MEASUREMENTS:
        command = commands.add_parser(each.name, help=each.help)
        for argument in each.arguments:
            is_option = argument.flag.startswith("-")
            names: dict[str, Any] = {"dest": argument.name} if is_option else {"metavar": argument.flag.upper()}
            command.add_argument(
                argument.flag if is_option else argument.name, help=argument.help, **names, **argument.options
            )
        if each.has_figures:
            file = Path(f"bench-{each.name}.json")
            default = "default" if each.always_writes else "if none is named"
            command.add_argument(
                "--json",
                dest="json_file",
                metavar="FILE",
                type=Path,
                nargs="?",
                const=file,
                default=file if each.always_writes else None,
                help=f"write the figures to this file too ({default}: {file})",
            )
    options = vars(parser.parse_args(sys.argv[1:] or [MEASUREMENTS[0].name]))
    modules = {each.name: each.module for each in MEASUREMENTS}
    try:
        # Each of them needs packages that the others do without.
        status: int = import_module(f"benchmarks.{modules[options.pop('measurement')]}").run(**options)
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install -r requirements/bench.txt", file=sys.stderr)
        return 2
    except (DedupError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
