"""The settings of the items of a Scrapy project, read once into a typed object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property, partial
from importlib import import_module
from typing import Any, ClassVar

from itemadapter import ItemAdapter

from dedup.errors import SettingsError
from dedup.fields import HTML_FIELDS, ITEM_TEXT_FIELDS, KEY_FIELDS, TITLE_FIELDS, Getter, actual_name, getter_of
from dedup.rules.setting_values import from_json, to_bool, to_int, to_word

ItemFunction = Callable[[Any], Any]
"""Takes an item and returns a value of it, or None."""

Kind = tuple[type, tuple[Any, ...]]
"""What items have in common whose fields are found in the same way: their class and the names of their fields."""

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

    def has_field(self, view: ItemView) -> bool:
        """Whether an item has any of the fields, whatever is in it."""
        rule = self.rule_for(type(view.item))
        return rule is not None and any(actual_name(view.kind[1], name) is not None for name in rule.names)

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


@dataclass(frozen=True)
class ItemSettings:
    """The fields of items that are examined, and the treatment of items.

    Each stands in a Scrapy project as `DEDUP_` and its name in capitals. The names of fields are
    `dedup.stage.item_settings.FieldRule`: several, a function, or either by the item's class.

    Attributes:
        text_field: the text; markup in it is left out.
        title_field: the title, which is compared together with the text.
        html_field: HTML, or a response, from which the text is taken where there is none.
        key_field: the key: a URL, or an id, which counts for items of the same class and spider.
        distinct_fields: what tells items of one text from each other; `*`: all fields that may do so.
        mark_field: receives verdict, original, distance and similarity of each item; empty: no field does.
        same_key: another text under a key in one run: `separate`, it is another document with a key of its own;
            `update`, the document has changed.
        short_texts: what becomes of equal texts under DEDUP_MIN_TOKENS: `similar`, they pass; `drop`, they are
            copies; `pass`, they are not examined.
        drop_unchanged: whether an item whose key had the same text before is dropped.
        follow_duplicates: whether the links of a duplicate are followed.
        on_error: when the database fails for good: `pass` items undecided, or `stop` the crawl.
        workers: worker processes for extraction; 0: threads.
    """

    # Fields of items that a crawler has made for the stage: a signature that was made already, the digest of the page's
    # bytes, the address that the page names as its own.
    signature_field: ClassVar = FieldRule(("signature",))
    body_digest_field: ClassVar = FieldRule(("body_digest",))
    canonical_field: ClassVar = FieldRule(("canonical",))

    text_field: FieldRule = field(default_factory=partial(FieldRule, ITEM_TEXT_FIELDS))
    title_field: FieldRule = field(default_factory=partial(FieldRule, TITLE_FIELDS))
    html_field: FieldRule = field(default_factory=partial(FieldRule, HTML_FIELDS))
    key_field: FieldRule = field(default_factory=partial(FieldRule, KEY_FIELDS))
    distinct_fields: FieldRule = field(default_factory=partial(FieldRule, ALL_FIELDS))
    mark_field: str = ""
    same_key: SameKey = SameKey.SEPARATE
    short_texts: ShortTexts = ShortTexts.SIMILAR
    drop_unchanged: bool = False
    follow_duplicates: bool = True
    on_error: OnError = OnError.PASS
    workers: int = 1

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ItemSettings:
        """Read the settings; `get` gives the value of one by its full name, None where it is not set.

        Raises:
            SettingsError: a value cannot be used.
        """
        defaults = cls()
        values: dict[str, Any] = {}
        for each in fields(cls):
            name = f"DEDUP_{each.name.upper()}"
            value = get(name)
            if value is None:
                continue
            default = getattr(defaults, each.name)
            if isinstance(default, FieldRule):
                values[each.name] = FieldRule.parse(name, value, default.names)
            else:
                values[each.name] = _CONVERTERS[str(each.type)](name, value)
        settings = cls(**values)
        if settings.workers < 0:
            raise SettingsError(f"DEDUP_WORKERS = {settings.workers}: expected at least 0")
        return settings


_CONVERTERS: dict[str, Callable[[str, Any], Any]] = {
    "bool": to_bool,
    "int": to_int,
    "str": lambda name, value: str(value),
    "SameKey": to_word(SameKey),
    "ShortTexts": to_word(ShortTexts),
    "OnError": to_word(OnError),
}
