"""`python -m benchmarks NAME`: run one of the benchmarks; without a name the main ones.

A benchmark is a function, `run` of its module where the table names no other. Its arguments are those of the command
line, and it returns its figures.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from argparse import REMAINDER, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

from dedup.errors import DedupError

BENCHMARKS = {
    "all": "suite",
    "crawl": "crawl",
    "long-crawl": "long_crawl",
    "chain": "stage_costs:chain",
    "light": "stage_costs:light",
    "addresses": "addresses",
    "quality": "quality",
    "triage": "triage",
    "curve": "quality:curve",
    "scripts": "scripts",
    "extraction": "extraction",
    "updates": "updates",
    "visits": "visits",
    "signatures": "signatures",
    "files": "files",
    "decisions": "decisions",
    "crowding": "crowding",
    "spark": "spark",
    "spark-growth": "spark:grow",
    "spark-increment": "spark:increment",
    "frontier": "frontier",
    "report": "report",
    "screens": "screens",
}
"""The modules by the names of their benchmarks, with the function where it is not `run`."""

_DESCRIBED = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def main() -> int:
    """Run the benchmark named on the command line and return the exit status: 1 if it has failed, 2 for wrong use."""
    listed = [f"  {name:16} {_first_line(name)}" for name in BENCHMARKS]
    parser = ArgumentParser(
        prog="python -m benchmarks",
        description="\n".join([str(__doc__), *listed]),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("benchmark", choices=list(BENCHMARKS), metavar="NAME")
    parser.add_argument("arguments", nargs=REMAINDER, help="see python -m benchmarks NAME --help")
    options = parser.parse_args(sys.argv[1:] or ["all"])
    try:
        # Each of them needs packages that the others do without.
        module, _, function = BENCHMARKS[options.benchmark].partition(":")
        run = getattr(import_module(f"benchmarks.{module}"), function or "run")
        given = vars(parser_of(options.benchmark, run).parse_args(options.arguments))
        json_file: Path | None = given.pop("json")
        figures = run(**given)
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install -r requirements/bench.txt", file=sys.stderr)
        return 2
    except (DedupError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if isinstance(figures, dict) and figures.get("failed") else 0


def parser_of(name: str, run: Callable[..., Any]) -> ArgumentParser:
    """Return what reads the arguments of a benchmark: those of its function, described by its docstring.

    Args:
        name: what it is called by.
        run: its function.
    """
    docstring = inspect.getdoc(run) or ""
    described = {found[1]: " ".join(found[2].split()) for found in _DESCRIBED.finditer(docstring)}
    parser = ArgumentParser(prog=f"python -m benchmarks {name}", description=docstring.partition("\n")[0])
    for parameter in inspect.signature(run, eval_str=True).parameters.values():
        kinds = list(_kinds(parameter.annotation))
        options: dict[str, Any] = {"help": described[parameter.name]}
        readers = {int: number_of, float: float, Path: Path}
        options["type"] = next((reader for kind, reader in readers.items() if kind in kinds), str)
        if list in kinds:
            options["nargs"] = "+"
        if parameter.default is not parameter.empty:
            options["default"] = parameter.default
            if parameter.default is not None:
                options["help"] += f" (default: {parameter.default})"
        else:
            options["required"] = True
        parser.add_argument(f"--{parameter.name.replace('_', '-')}", **options)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures to this file too")
    return parser


def number_of(text: str) -> int:
    """Read a whole number; 1e6 is one."""
    return int(float(text))


def _kinds(annotation: Any) -> Iterator[Any]:
    yield get_origin(annotation) or annotation
    for each in get_args(annotation):
        yield from _kinds(each)


def source_of(name: str) -> tuple[ast.Module, ast.FunctionDef]:
    """Return a benchmark's module and function, read and not imported: packages that it needs may not be there."""
    module, _, function = BENCHMARKS[name].partition(":")
    source = ast.parse((Path(__file__).parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    functions = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}
    return source, functions[function or "run"]


def _first_line(name: str) -> str:
    module, function = source_of(name)
    return (ast.get_docstring(module if function.name == "run" else function) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
