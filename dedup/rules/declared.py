"""Settings that are declared once: what each is read as, its default, and what it says, for the docs and the help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeVar

from dedup.rules.setting_values import Reader, read_value

T = TypeVar("T")

_READ, _SAYS = "read", "says"


def setting(default: T, read: Reader[T], says: str) -> T:
    """Declare a setting, as an attribute of a class of `Settings`.

    Args:
        default: its value where it is not set; None: it follows from others.
        read: what makes its value of what is given, see `dedup.rules.setting_values`.
        says: what it is, for the docs and the help.
    """
    declared: Any = field(default=default, metadata={_READ: read, _SAYS: says})
    return declared  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Settings:
    """Base of settings, each of which is a `setting`: values are read alike, whether code or a user gives them.

    Raises:
        SettingsError: a value cannot be used.
    """

    prefix: ClassVar = "DEDUP_"

    def __init_subclass__(cls) -> None:
        own = (f"    {name}: {each.metadata[_SAYS]}" for name, each in vars(cls).items() if isinstance(each, Field))
        cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Attributes:", *own])

    def __post_init__(self) -> None:
        for each in fields(self):
            if (given := getattr(self, each.name)) is not None:
                value = read_value(self.full_name(each.name), given, each.metadata[_READ])
                object.__setattr__(self, each.name, value)

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> Self:
        """Read the settings of a project or a command line.

        Args:
            get: gives the value of a setting by its full name, None where it is not set.

        Raises:
            SettingsError: a value cannot be used.
        """
        given = ((name, get(cls.full_name(name))) for name in cls.names())
        return cls(**{name: value for name, value in given if value is not None})

    @classmethod
    def full_name(cls, name: str) -> str:
        """Return the name of a setting in a project."""
        return f"{cls.prefix}{name.upper()}"

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the settings, as code and command lines have them."""
        return [each.name for each in fields(cls)]

    @classmethod
    def described(cls) -> Iterator[tuple[str, str, str]]:
        """Yield of each setting its name, its default as it is written, and what it says."""
        defaults = cls()
        for each in fields(cls):
            default = getattr(defaults, each.name)
            yield each.name, "" if default is None else str(default), each.metadata[_SAYS]
