"""Where in an item a value stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import attrs
import pydantic
import pytest
import scrapy

from dedup.errors import SettingsError
from dedup.fields import getter_of
from dedup.stage import item_settings
from dedup.stage.item_settings import FieldRule, ItemSettings, ItemView


@dataclass
class Story:
    body: str
    author: Any = None


@dataclass
class LongStory(Story):
    pass


class Product(scrapy.Item):
    name = scrapy.Field()
    details = scrapy.Field()


@attrs.define
class Review:
    words: str


class Person(pydantic.BaseModel):
    name: str


def first_of(setting: Any, item: Any, default: tuple[str, ...] = ("text",)) -> Any:
    """Return the preferred value that a setting finds in an item, and where."""
    return next(FieldRule.parse(setting, default).find(ItemView(item)), None)


def upper_body(item: Any) -> str:
    return str(item.body.upper())


@pytest.mark.parametrize("setting", ["body", "text, body", ["text", "body"], ("body",), "body,text"])
def test_one_name_or_several(setting: Any) -> None:
    assert first_of(setting, Story("x")) == ("body", "x")


def test_values_come_in_the_order_of_the_names() -> None:
    rule = FieldRule.parse("b,a,c")
    assert list(rule.find(ItemView({"a": 1, "b": 2, "d": 3}))) == [("b", 2), ("a", 1)]


def test_fields_are_looked_up_once_for_all_items_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = []

    def noted(names: tuple[str, ...], path: str, as_fields: Any) -> Any:
        looked_up.append(path)
        return getter_of(names, path, as_fields)

    monkeypatch.setattr(item_settings, "getter_of", noted)
    rule = FieldRule(("Author", "body"))
    found = [list(rule.find(ItemView(Story(body, author)))) for body, author in (("x", "a"), ("y", None), ("z", "c"))]
    assert found == [[("Author", "a"), ("body", "x")], [("body", "y")], [("Author", "c"), ("body", "z")]]
    assert looked_up == ["Author", "body"]
    assert [list(rule.find(ItemView({"BODY": text}))) for text in "ab"] == [[("body", "a")], [("body", "b")]]
    assert looked_up == ["Author", "body"] * 2


def test_a_field_that_is_none_is_not_there() -> None:
    assert first_of("a,b", {"a": None, "b": ""}) == ("b", "")


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"author": {"name": "x"}}, "x"),
        (Story("b", Person(name="x")), "x"),
        (Story("b", [{"name": "x"}, {"other": 1}, {"name": "y"}]), ["x", "y"]),
        ({"author": [{"other": 1}]}, None),
        ({"author": "x"}, None),
        ({}, None),
        ({"author.name": "x"}, "x"),
    ],
)
def test_a_dot_leads_into_what_is_in_a_field(item: Any, found: Any) -> None:
    assert first_of("author.name", item) == (None if found is None else ("author.name", found))


@pytest.mark.parametrize("setting", [upper_body, "tests.stage.test_fields:upper_body"])
def test_a_function_is_called_with_the_item(setting: Any) -> None:
    assert first_of(setting, Story("x")) == ("upper_body", "X")


@pytest.mark.parametrize("name", ["Story", "tests.stage.test_fields.Story", Story])
def test_a_class_has_a_rule_of_its_own_by_name_path_or_itself(name: Any) -> None:
    setting = {name: "body", "Product": ["details", "name"], Review: None}
    assert first_of(setting, Story("x")) == ("body", "x")
    assert first_of(setting, LongStory("x")) == ("body", "x")
    assert first_of(setting, Product(name="n", details="d")) == ("details", "d")
    assert first_of(setting, Review("w")) is None
    assert first_of(setting, {"text": "t"}) == ("text", "t")


def test_only_a_class_that_is_said_to_have_none_is_off() -> None:
    rule = FieldRule.parse({"Review": None})
    assert rule.rule_for(Review) is None
    assert rule.rule_for(Story) is rule


@pytest.mark.parametrize("nothing", ["", [], ()])
def test_no_name_finds_nothing(nothing: Any) -> None:
    assert first_of(nothing, {"text": "t", "": "x"}) is None


@pytest.mark.parametrize(
    "wrong", [17, [1], {1: "x"}, "no.such.module:function", "tests.stage.test_fields:nothing", "os:sep"]
)
def test_what_is_neither_is_refused_in_a_line_that_names_the_setting(wrong: Any) -> None:
    with pytest.raises(SettingsError, match=r"^DEDUP_TEXT_FIELD") as raised:
        ItemSettings.read({"DEDUP_TEXT_FIELD": wrong}.get)
    assert "\n" not in str(raised.value)


def test_names_in_a_list_are_never_functions() -> None:
    assert first_of(["og:description"], {"og:description": "x"}) == ("og:description", "x")


@pytest.mark.parametrize(
    "setting", ['{"Story": "body"}', ' {"Story": ["text", "body"], "Review": null}', '["a","body"]']
)
def test_on_a_command_line_lists_and_mappings_are_json(setting: str) -> None:
    assert first_of(setting, Story("x")) == ("body", "x")


@pytest.mark.parametrize(
    "wrong", ["{", '{"Story": 5}', "[1]", "{Story: body}", ".fields:parse", "nowhere.at_all:parse"]
)
def test_damaged_value_of_a_command_line_is_refused_in_one_line(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"^DEDUP_TEXT_FIELD\b.*(expected|cannot be imported)"):
        ItemSettings.read({"DEDUP_TEXT_FIELD": wrong}.get)
