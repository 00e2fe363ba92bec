"""The settings of items, read from a project."""

from __future__ import annotations

from typing import Any

import pytest

from dedup.errors import SettingsError
from dedup.stage.item_settings import ItemSettings, OnError, SameKey, ShortTexts


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("workers", "0", 0),
        ("same_key", "update", SameKey.UPDATE),
        ("short_texts", "pass", ShortTexts.PASS),
        ("on_error", "pass", OnError.PASS),
        ("follow_duplicates", "no", False),
        ("drop_unchanged", 1, True),
        ("mark_field", "copy", "copy"),
    ],
)
def test_a_value_is_understood(name: str, given: Any, expected: object) -> None:
    assert getattr(ItemSettings.read({f"DEDUP_{name.upper()}": given}.get), name) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", -1), ("workers", "x"), ("same_key", "x"), ("short_texts", ""), ("on_error", 1), ("text_field", 17)],
)
def test_a_value_that_cannot_be_used_is_refused_in_one_line_that_names_the_setting(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^DEDUP_{name.upper()}") as raised:
        ItemSettings.read({f"DEDUP_{name.upper()}": value}.get)
    assert "\n" not in str(raised.value)


def test_names_for_other_classes_stay_where_one_class_has_its_own() -> None:
    settings = ItemSettings.read({"DEDUP_TEXT_FIELD": {"Book": "blurb"}}.get)
    assert settings.text_field.names == ItemSettings().text_field.names
