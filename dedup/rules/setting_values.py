"""What settings are read as: functions of a value, as code, a Scrapy project or a command line has it.

Each raises ValueError for what it is not, with what is expected; or SettingsError, which names the value itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol, Self, TypeVar

from dedup.errors import SettingsError


class _Written(Protocol):
    """What has a form in which people write it."""

    @classmethod
    def parse(cls, text: str) -> Self: ...


T = TypeVar("T")
W = TypeVar("W", bound=StrEnum)
P = TypeVar("P", bound=_Written)

Reader = Callable[[Any], T]

_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def read_value(name: str, value: Any, read: Reader[T]) -> T:
    """Return the value of a setting or argument.

    Raises:
        SettingsError: it cannot be read; the message is a line with the name, the value and what is expected.
    """
    try:
        return read(value)
    except ValueError as error:
        raise SettingsError(f"{name} = {value!r}: expected {error}") from None
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None


def to_bool(value: Any) -> bool:
    """Read True or False as settings and command lines write them."""
    known = _WORDS.get(str(value).lower())
    if known is None:
        raise ValueError("True or False")
    return known


def whole_number(least: int, most: float = float("inf"), unit: str = "") -> Reader[int]:
    """Return what reads a whole number within bounds."""
    expected = f"a whole number {_bounds(least, most)}{unit and f' {unit}'}"

    def read(value: Any) -> int:
        text = str(value).strip()
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or not least <= int(text) <= most:
            raise ValueError(expected)
        return int(text)

    return read


def number(least: float, most: float, unit: str = "") -> Reader[float]:
    """Return what reads a number within bounds."""
    expected = f"a number {_bounds(least, most)}{unit and f' {unit}'}"

    def read(value: Any) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise ValueError(expected) from None
        if not least <= found <= most:
            raise ValueError(expected)
        return found

    return read


def word(words: type[W]) -> Reader[W]:
    """Return what reads one of these words."""

    def read(value: Any) -> W:
        try:
            return words(value)
        except ValueError:
            raise ValueError(f"one of {', '.join(words)}") from None

    return read


def parsed(kind: type[P]) -> Reader[P]:
    """Return what reads things of a kind by its `parse`, in any case and with any spaces."""
    return lambda value: value if isinstance(value, kind) else kind.parse(" ".join(str(value).lower().split()))


def from_json(value: Any) -> Any:
    """Return the list or mapping that a text is in JSON, as on a command line; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"names, or a list or mapping in JSON: {error}") from None


def _bounds(least: float, most: float) -> str:
    return f"from {least} up" if most == float("inf") else f"from {least} to {most:,}"
