"""The settings of the items of a Scrapy project, read once into a typed object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from importlib import import_module
from math import isnan
from typing import Any, ClassVar

from itemadapter import ItemAdapter

from dedup.errors import SettingsError
from dedup.fields import HTML_FIELDS, ITEM_TEXT_FIELDS, KEY_FIELDS, TITLE_FIELDS, Getter, getter_of
from dedup.rules.declared import Settings, setting
from dedup.rules.setting_values import from_json, to_bool, whole_number, word

ItemFunction = Callable[[Any], Any]
"""Takes an item and returns a value of it, or None."""

Kind = tuple[type, tuple[Any, ...]]
"""What items have in common whose fields are found in the same way: their class and the names of their fields."""

Pipelines = tuple[str | type, ...] | float
"""Pipelines by class, import path or name of the class; or a number in ITEM_PIPELINES."""

ALL_FIELDS = ("*",)
"""All fields that may tell an item from others of its text, see `dedup.stage.distinct_fields`."""

_MOST_KINDS = 256


def as_item(value: Any) -> Mapping[Any, Any] | None:
    """Return the fields of a value that is an item of any kind that itemadapter knows; None of anything else."""
    if isinstance(value, dict):
        return value
    return ItemAdapter(value) if ItemAdapter.is_item(value) else None


class ItemView:
    """An item, with its fields as a mapping."""

    def __init__(self, item: Any) -> None:
        self.item = item

    @cached_property
    def fields(self) -> Mapping[Any, Any]:
        """Its fields; none where it is no item."""
        # An adapter looks at the class of its item each time that a field is read.
        return self.item if isinstance(self.item, dict) else dict(as_item(self.item) or {})

    @cached_property
    def kind(self) -> Kind:
        """Its class, with the names of its fields."""
        return type(self.item), tuple(self.fields)

    @property
    def is_item(self) -> bool:
        """Whether it is an item of any kind that itemadapter knows."""
        return isinstance(self.item, dict) or ItemAdapter.is_item(self.item)

    @property
    def class_name(self) -> str:
        """The name of its class; of a dict, which can be anything, the empty string."""
        return "" if isinstance(self.item, dict) else type(self.item).__qualname__


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
        self._getters: dict[Kind, list[tuple[str, Getter]]] = {}

    def __str__(self) -> str:
        return ", ".join(self.names)

    @classmethod
    def parse(cls, value: Any, default: tuple[str, ...] = ()) -> FieldRule:
        """Read the value of a setting.

        Args:
            value: a name, several with commas or as a list, a function, `package.module:function`, or a mapping
                of item classes (their names, import paths, or the classes themselves) to any of these. Lists and
                mappings may be JSON, as on a command line.
            default: the names for items whose class a mapping does not have.

        Raises:
            ValueError: it is none of these; the message is what they are.
            SettingsError: the function cannot be imported, or a class has no name.
        """
        if isinstance(value, FieldRule):
            return value
        value = from_json(value)
        if isinstance(value, Mapping):
            rules = {_class_name(kind): None if rule is None else cls.parse(rule) for kind, rule in value.items()}
            return cls(default, by_class=rules)
        if isinstance(value, str) and ":" in value:
            return cls(function=_import(value.strip()))
        if callable(value):
            return cls(function=value)
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
            raise ValueError("names of fields, a function, or either by the item's class")
        return cls(tuple(name.strip() for name in names if name.strip()))

    def find(self, view: ItemView) -> Iterator[tuple[str, Any]]:
        """Yield the values that an item has, the preferred first, each with the name of its field."""
        rule = self.rule_for(type(view.item))
        if rule is None:
            return
        if rule._function is not None:  # noqa: SLF001 -- one of the same class
            yield getattr(rule._function, "__name__", "function"), rule._function(view.item)  # noqa: SLF001
            return
        for name, get in rule._getters_of(view.kind):  # noqa: SLF001
            value = get(view.fields)
            if value is not None:
                yield name, value

    def value(self, view: ItemView) -> Any:
        """Return the preferred value that an item has; None where it has none."""
        return next((value for _, value in self.find(view)), None)

    def _getters_of(self, kind: Kind) -> list[tuple[str, Getter]]:
        """Return the getters of those fields of the rule that items of a kind have, each with its name in the rule."""
        if kind not in self._getters:
            if len(self._getters) >= _MOST_KINDS:  # items whose fields have the names of things
                self._getters.clear()
            found = ((name, getter_of(kind[1], name, as_item)) for name in self.names)
            self._getters[kind] = [(name, get) for name, get in found if get is not None]
        return self._getters[kind]

    def rule_for(self, kind: type) -> FieldRule | None:
        """Return the rule for items of a class; None where they have no such value."""
        if not self._by_class:
            return self
        for each in kind.__mro__:
            for name in (f"{each.__module__}.{each.__qualname__}", each.__qualname__):
                if name in self._by_class:
                    return self._by_class[name]
        return self


def _class_name(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}"
    raise SettingsError(f"{kind!r} is no item class, nor the name of one")


def _import(path: str) -> ItemFunction:
    module, _, name = path.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise SettingsError(f"{path!r} cannot be imported: {error}") from None
    if not callable(function):
        raise SettingsError(f"{path!r} is no function")
    return function  # type: ignore[no-any-return]


class SameKey(StrEnum):
    """The meaning of another text under a key that was decided before, in the same process and run."""

    SEPARATE = "separate"
    UPDATE = "update"


class ShortTexts(StrEnum):
    """The treatment of texts that are too short for anything but an exact comparison."""

    SIMILAR = "similar"
    DROP = "drop"
    PASS = "pass"  # noqa: S105 -- no password


class OnError(StrEnum):
    """The treatment of items when the database fails for good."""

    STOP = "stop"
    PASS = "pass"  # noqa: S105 -- no password


def _fields(names: tuple[str, ...], says: str) -> FieldRule:
    return setting(FieldRule(names), partial(FieldRule.parse, default=names), says)


def _pipelines(value: Any) -> Pipelines:
    given = from_json(value)
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        with suppress(ValueError):
            given = float(given)
    if isinstance(given, float) and not isnan(given):  # which is before none and after none
        return given
    named = given.split(",") if isinstance(given, str) else [given] if isinstance(given, type) else given
    if isinstance(named, Iterable):
        return tuple(name for each in named if (name := each.strip() if isinstance(each, str) else each))
    raise ValueError("pipelines (classes, import paths or names), or a number")


@dataclass(frozen=True)
class ItemSettings(Settings):
    """The fields of items that are examined, and the treatment of items.

    Each stands in a Scrapy project as `DEDUP_` and its name in capitals. The names of fields are
    `dedup.stage.item_settings.FieldRule`: several, a function, or either by the item's class.
    """

    # Fields of items that a crawler has made for the stage: a signature that was made already, the digest of the page's
    # bytes.
    signature_field: ClassVar = FieldRule(("signature",))
    body_digest_field: ClassVar = FieldRule(("body_digest",))

    text_field: FieldRule = _fields(ITEM_TEXT_FIELDS, "the text; markup is removed.")
    title_field: FieldRule = _fields(TITLE_FIELDS, "the title, compared together with the text.")
    html_field: FieldRule = _fields(HTML_FIELDS, "HTML, or a response, to extract the text from if there is none.")
    key_field: FieldRule = _fields(KEY_FIELDS, "the key: a URL, or an id of items of one class and spider.")
    distinct_fields: FieldRule = _fields(
        ALL_FIELDS, "what tells items with the same text apart; `*`: all fields that can."
    )
    mark_field: str = setting(
        "", str, "the field that receives verdict, original, similarity and rule of each item; empty: none."
    )
    same_key: SameKey = setting(
        SameKey.SEPARATE,
        word(SameKey),
        "a second text with the same key in one run: `separate`: another document; `update`: the document has changed.",
    )
    short_texts: ShortTexts = setting(
        ShortTexts.SIMILAR,
        word(ShortTexts),
        "equal texts under DEDUP_MIN_TOKENS: `similar`: they pass; `drop`: they are copies; `pass`: they are not "
        "examined.",
    )
    drop_unchanged: bool = setting(False, to_bool, "whether an item with the key and text of a stored one is dropped.")
    follow_duplicates: bool = setting(True, to_bool, "whether the links of a duplicate are followed.")
    on_error: OnError = setting(
        OnError.PASS,
        word(OnError),
        "if the database fails for good: `pass` items undecided, or `stop` the crawl.",
    )
    workers: int = setting(1, whole_number(0), "worker processes for extraction; 0: threads.")
    after: Pipelines | None = setting(
        None, _pipelines, "pipelines that run before the stage, or the number of the stage in ITEM_PIPELINES."
    )
