"""Commands of the documentation, checked against the parsers that read them."""

from __future__ import annotations

import argparse
import io
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from unittest.mock import patch

import scrapy.commands
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.settings import Settings

import crawler.commands
import dedup.stage.commands
from benchmarks.__main__ import BENCHMARKS, source_of
from crawler.arguments import NAMES
from dedup.cli.main import main
from tests.docs.pages import ROOT
from tests.docs.settings_table import KNOWN

# Run in tests/crawler/warc.
ARCHIVE_TOOLS = ("cdxj-indexer", "wacz")
PROGRAMS = ("dedup", "scrapy", "make", "pip", "python", "export", "docker", "git", "cd", *ARCHIVE_TOOLS)
_ASSIGNMENT = re.compile(r"([A-Z_]+)=(.*)")


class WrongCommandError(AssertionError):
    """The documentation names something that does not exist."""


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the commands of a shell block as words, without comments."""
    for line in text.splitlines():
        for part in line.split(" && "):
            if words := shlex.split(part, comments=True):
                yield words


def check(words: list[str]) -> None:
    """Check that a command can be given: its program, its options, and the settings that it names.

    Raises:
        WrongCommandError: it cannot.
    """
    while match := _ASSIGNMENT.fullmatch(words[0]):
        _require_variable(match[1])
        words = words[1:]
    program, *arguments = [word.removesuffix("...") or "..." for word in words]
    program = program.removeprefix(".venv/bin/")
    if program == "dedup":
        _check_dedup(arguments)
    elif program == "scrapy":
        _check_scrapy(arguments)
    elif program == "make":
        _check_make(arguments)
    elif program == "pip":
        _check_pip(arguments)
    elif program == "python":
        _check_python(arguments)
    elif program == "docker":
        _check_docker(arguments)
    elif program == "export":
        for argument in arguments:
            _require_variable(argument.partition("=")[0])
    elif program not in ("git", "cd", *ARCHIVE_TOOLS):
        raise WrongCommandError(f"{program} is none of {', '.join(PROGRAMS)}")


def _check_dedup(arguments: list[str]) -> None:
    name = arguments[0].replace("-", "_") if arguments else ""
    if not name:
        return
    if find_spec(f"dedup.cli.{name}") is None:
        raise WrongCommandError(f"dedup {arguments[0]} does not exist")
    told = io.StringIO()
    # The parser is the real one; nothing is done.
    with (
        patch.object(import_module(f"dedup.cli.{name}"), "run", lambda options: 0),
        redirect_stdout(told),
        redirect_stderr(told),
    ):
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
    if status:
        raise WrongCommandError(f"dedup {shlex.join(arguments)}: {told.getvalue().splitlines()[-1]}")


def _check_scrapy(arguments: list[str]) -> None:
    if not arguments:
        return
    name, *options = arguments
    parser = ScrapyArgumentParser(prog=f"scrapy {name}", exit_on_error=False)
    command = _scrapy_command(name)
    command.settings = Settings()
    command.add_options(parser)
    read, rest = parser.parse_known_args(options)
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        raise WrongCommandError(f"scrapy {name} has no option {unknown[0]}")
    for argument in getattr(read, "spargs", None) or []:
        if argument.partition("=")[0] not in NAMES:
            raise WrongCommandError(f"the spider has no argument {argument}")
    for setting in read.set:
        _require_variable(setting.partition("=")[0])


def _scrapy_command(name: str) -> scrapy.commands.ScrapyCommand:
    for package in (dedup.stage.commands, crawler.commands, scrapy.commands):
        module = name.replace("-", "_")
        if module in {each.name for each in pkgutil.iter_modules(package.__path__)}:
            command: scrapy.commands.ScrapyCommand = import_module(f"{package.__name__}.{module}").Command()
            return command
    raise WrongCommandError(f"scrapy {name} does not exist")


def _check_make(arguments: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(" ".join(re.findall(r"^([a-z -]+):", makefile, re.MULTILINE)).split())
    variables = set(re.findall(r"\$\(([A-Z]+)\)", makefile))
    for argument in arguments:
        variable, equals, _ = argument.partition("=")
        if variable not in (variables if equals else targets):
            raise WrongCommandError(f"make {argument}: the Makefile has no {variable}")


def _check_pip(arguments: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for argument in arguments:
        if match := re.fullmatch(rf"({project['name']}|\.)\[(.*)\]", argument):
            for extra in set(match[2].split(",")) - set(project["optional-dependencies"]):
                raise WrongCommandError(f"there is no extra {extra}")
        if argument.startswith("requirements/") and not (ROOT / argument).exists():
            raise WrongCommandError(f"there is no file {argument}")


def _check_python(arguments: list[str]) -> None:
    if arguments[:1] != ["-m"]:
        raise WrongCommandError("only modules are run by python in the documentation")
    module, *options = arguments[1:]
    if module == "benchmarks":
        _check_benchmark(options)
    elif not module.startswith("build") and find_spec(module) is None:
        raise WrongCommandError(f"there is no module {module}")


def _check_benchmark(options: list[str]) -> None:
    if not options or options[0] == "NAME":
        return
    name, *given = options
    if name not in BENCHMARKS:
        raise WrongCommandError(f"there is no benchmark {name}")
    _, run = source_of(name)
    arguments = {f"--{each.arg.replace('_', '-')}" for each in run.args.kwonlyargs}
    flags = {option for option in given if option.startswith("--")}
    if unknown := flags - arguments - {"--json"}:
        raise WrongCommandError(f"python -m benchmarks {name} has no option {unknown.pop()}")
    if given and not given[0].startswith("--"):
        raise WrongCommandError(f"python -m benchmarks {name} takes options only, not {given[0]}")


def _check_docker(arguments: list[str]) -> None:
    """Check what is run in the image; the image itself is built by `tests.test_container`."""
    if arguments[0] == "build":
        return
    parser = argparse.ArgumentParser(prog="docker", exit_on_error=False)
    parser.add_argument("command", choices=["run"])
    parser.add_argument("--rm", action="store_true")
    parser.add_argument("--entrypoint", default="scrapy crawl site")
    for option in ("-v", "-e"):
        parser.add_argument(option, action="append")
    parser.add_argument("image", choices=["neardup"])
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    read = parser.parse_args(arguments)
    check([*read.entrypoint.split(), *read.rest])


def _require_variable(name: str) -> None:
    if name.startswith(("DEDUP_", "CRAWLER_")) and name not in KNOWN:
        raise WrongCommandError(f"{name} is no setting")
