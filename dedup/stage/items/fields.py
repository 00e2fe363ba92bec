"""Where in an item a value stands: names of fields, a function, or either by the item's class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from itemadapter import ItemAdapter

from dedup.errors import SettingsError
from dedup.rules.setting_values import from_json

ItemFunction = Callable[[Any], Any]
"""Takes an item and returns a value of it, or None."""


class FieldRule:
    """Finds a value in an item.

    Args:
        names: fields, the preferred first; `author.name` is the field `name` of what is in the field `author`,
            or of each of the elements of a list there.
        function: called with the item instead.
        by_class: other rules for items of some classes, by the class's name or import path; None: items of
            this class have no such value.
    """

    def __init__(
        self,
        names: tuple[str, ...] = (),
        function: ItemFunction | None = None,
        by_class: Mapping[str, FieldRule | None] | None = None,
    ) -> None:
        self.names = names
        self._function = function
        self._by_class = dict(by_class or {})

    def __str__(self) -> str:
        return ", ".join(self.names)

    @classmethod
    def parse(cls, setting: str, value: Any, default: tuple[str, ...] = ()) -> FieldRule:
        """Read the value of a setting.

        Args:
            setting: its name, for errors.
            value: a name, several with commas or as a list, a function, `package.module:function`, or a mapping
                of item classes (their names, import paths, or the classes themselves) to any of these. Lists and
                mappings may be JSON, as on a command line.
            default: the names for items whose class a mapping does not have.

        Raises:
            SettingsError: it is none of these, or the function cannot be imported.
        """
        if isinstance(value, FieldRule):
            return value
        value = from_json(setting, value)
        if isinstance(value, Mapping):
            rules = {
                _class_name(setting, kind): None if rule is None else cls.parse(setting, rule)
                for kind, rule in value.items()
            }
            return cls(default, by_class=rules)
        if isinstance(value, str) and ":" in value:
            return cls(function=_import(setting, value.strip()))
        if callable(value):
            return cls(function=value)
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
            raise SettingsError(
                f"{setting} = {value!r}: expected names of fields, a function, or either by the item's class"
            )
        return cls(tuple(name.strip() for name in names if name.strip()))

    def find(self, item: Any) -> Iterator[tuple[str, Any]]:
        """Yield the values that an item has, the preferred first, each with where it stands."""
        rule = self.rule_for(type(item))
        if rule is None:
            return
        if rule._function is not None:  # noqa: SLF001 -- one of the same class
            yield getattr(rule._function, "__name__", "function"), rule._function(item)  # noqa: SLF001
            return
        adapter = ItemAdapter(item)
        for name in rule.names:
            value = _value_at(adapter, name)
            if value is not None:
                yield name, value

    def rule_for(self, kind: type) -> FieldRule | None:
        """Return the rule for items of a class; None where they have no such value."""
        for each in kind.__mro__:
            for name in (f"{each.__module__}.{each.__qualname__}", each.__qualname__):
                if name in self._by_class:
                    return self._by_class[name]
        return self


def _class_name(setting: str, kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}"
    raise SettingsError(f"{setting}: {kind!r} is no item class, nor the name of one")


def _import(setting: str, path: str) -> ItemFunction:
    module, _, name = path.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise SettingsError(f"{setting} = {path!r} cannot be imported: {error}") from None
    if not callable(function):
        raise SettingsError(f"{setting} = {path!r} is no function")
    return function  # type: ignore[no-any-return]


def value_of(adapter: ItemAdapter, name: str) -> Any:
    """Return the value of a field, in any case; None where an item has no such field, or has never set it."""
    field = actual_name(adapter, name)
    try:
        return None if field is None else adapter[field]
    except (KeyError, AttributeError):  # the latter of dataclasses and attrs, whose fields are there from the start
        return None


def actual_name(adapter: ItemAdapter, name: str) -> str | None:
    """Return a field's name as an item has it, in upper or lower case; None where it has none."""
    return _actual_names(tuple(adapter)).get(name) or _actual_names(tuple(adapter)).get(name.lower())


@lru_cache(maxsize=256)
def _actual_names(names: tuple[str, ...]) -> dict[str, str]:
    # The first of those that differ in their case alone, but for the name itself.
    return {str(name).lower(): name for name in reversed(names)} | {name: name for name in names}


def _value_at(adapter: ItemAdapter, path: str) -> Any:
    value = value_of(adapter, path)
    first, dot, rest = path.partition(".")
    return _inside(value_of(adapter, first), rest) if dot and value is None else value


def _inside(value: Any, path: str) -> Any:
    if isinstance(value, (list, tuple)):
        found = [each for each in (_inside(element, path) for element in value) if each is not None]
        return found or None
    if not ItemAdapter.is_item(value):
        return None
    return _value_at(ItemAdapter(value), path)
