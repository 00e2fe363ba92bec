"""Options that several commands have: --threshold, --scheme, --mode, --dictionary and --set; --encoding; --json."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from dedup.console import plain
from dedup.errors import InputError, SettingsError
from dedup.rules.settings import DedupSettings, RuleSettings, unknown_rule

_RULES = RuleSettings.names()
_OF_CRAWLS = set(DedupSettings.names()).difference(_RULES)
# Rules that are options of their own, too: the option, and what stands for its value in the help.
_OPTIONS = {
    "min_jaccard": ("--threshold", "NUMBER"),
    "mode": ("--mode", "MODE"),
    "scheme": ("--scheme", "NAME"),
    "dictionary": ("--dictionary", "FILE"),
}


def add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `read_settings_options` reads, behind all others in the help."""
    group = parser.add_argument_group("how documents are decided")
    for name in _OPTIONS:
        add_rule_argument(group, name)
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one of these or another rule, such as min_jaccard=.6: docs/settings.md; may be given again",
    )


def add_rule_argument(parser: argparse._ActionsContainer, name: str) -> None:
    """Add the option that a rule of this name has of its own."""
    option, metavar = _OPTIONS[name]
    default, says = next(described[1:] for described in RuleSettings.described() if described[0] == name)
    about = f"{says.replace('`', '').removesuffix('.')}{default and f'; default: {default}'}"
    parser.add_argument(option, dest=name, metavar=metavar, help=about)


def add_json_argument(parser: argparse.ArgumentParser, *, default: Any = False) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", default=default, help="print an object for a program")


def add_encoding_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--encoding`; an empty one is guessed."""
    about = "encoding of files that are not UTF-8, such as gb18030, big5, windows-1252; default: it is guessed"
    parser.add_argument("--encoding", type=_encoding, default="", metavar="NAME", help=about)


def _encoding(name: str) -> str:
    try:
        "".encode(name or "utf-8")
    except (LookupError, ValueError):
        raise InputError(f"--encoding {name!r}: not known; such as gb18030, big5, windows-1252, shift_jis") from None
    return name


def read_settings_options(options: argparse.Namespace) -> dict[str, str]:
    """Return what --set, --threshold, --mode, --scheme and --dictionary give: values by the names of settings.

    Raises:
        InputError: an option and --set both give one.
    """
    named = {name: value for name in _OPTIONS if (value := getattr(options, name)) is not None}
    assigned = read_assignments("--set", options.set)
    for name in named.keys() & assigned.keys():
        raise InputError(
            f"{_OPTIONS[name][0]} {plain(named[name])} and --set {name}={plain(assigned[name])}: give one of them"
        )
    return assigned | named


def read_assignments(option: str, parts: Iterable[str]) -> dict[str, str]:
    """Read NAME=VALUE, NAME being a setting, with or without DEDUP_; of two for the same setting the last one holds.

    Raises:
        InputError: not NAME=VALUE.
        SettingsError: there is no such setting, or only a crawl has a use for it.
    """
    values = {}
    for part in parts:
        name, equals, value = part.partition("=")
        name = name.strip().lower().removeprefix("dedup_")
        if not equals:
            raise InputError(f"{option} {part!r}: write NAME=VALUE, such as min_jaccard=.6")
        if name in _OF_CRAWLS:
            raise SettingsError(f"{option} {name}: a setting of crawls, without a meaning here; leave it out")
        if name not in _RULES:
            raise SettingsError(f"{option}: {unknown_rule(plain(name), _RULES)}")
        values[name] = value.strip()
    return values


def make_settings(values: Mapping[str, str]) -> RuleSettings:
    """Make settings of what `read_settings_options` returns."""
    given: Mapping[str, Any] = values
    return RuleSettings(**given)


def rule_settings(options: argparse.Namespace) -> RuleSettings:
    """Make settings of the options."""
    return make_settings(read_settings_options(options))
