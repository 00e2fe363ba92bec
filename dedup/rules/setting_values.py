"""Values of settings, as a Scrapy project or a command line has them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from dedup.errors import SettingsError

W = TypeVar("W", bound=StrEnum)


P = TypeVar("P")


def to_bool(name: str, value: Any) -> bool:
    """Return True or False as settings and command lines write them; raise SettingsError for anything else."""
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    known = words.get(str(value).lower())
    if known is None:
        raise SettingsError(f"{name} = {value!r}: expected True or False")
    return known


def to_int(name: str, value: Any) -> int:
    """Return a whole number; raise SettingsError for anything else."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", str(value).strip()):
        raise SettingsError(f"{name} = {value!r}: expected a whole number")
    return int(value)


def to_float(name: str, value: Any) -> float:
    """Return a number; raise SettingsError for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SettingsError(f"{name} = {value!r}: expected a number") from None


def to_word(words: type[W]) -> Callable[[str, Any], W]:
    """Return a function that gives one of these words, and raises SettingsError for any other."""

    def convert(name: str, value: Any) -> W:
        try:
            return words(value)
        except ValueError:
            raise SettingsError(f"{name} = {value!r}: expected one of {', '.join(words)}") from None

    return convert


def from_json(name: str, value: Any) -> Any:
    """Return the list or mapping that a text is in JSON, as on a command line; any other value as it is.

    Raises:
        SettingsError: it begins like one of them, and is no JSON.
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise SettingsError(f"{name} = {value!r}: expected names, or a list or mapping in JSON: {error}") from None


def to_parsed(kind: type[P], parse: Callable[[str], P]) -> Callable[[str, Any], P]:
    """Return a function that gives what `parse` reads, and raises SettingsError for what it refuses by a ValueError."""

    def convert(name: str, value: Any) -> P:
        if isinstance(value, kind):
            return value
        try:
            return parse(" ".join(str(value).lower().split()))
        except ValueError as error:
            raise SettingsError(f"{name} = {value!r}: expected {error}") from None

    return convert
