"""Nothing is done in silence: items that could not be examined, settings that nobody knows."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest
from scrapy.settings import Settings

from dedup.stage.item_settings import ItemView
from dedup.stage.monitoring import NO_ITEM, WARN_AFTER, UnexaminedItems
from dedup.stage.project import unknown_settings


@dataclass
class Price:
    amount: int
    currency: str


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING)
    return caplog


def test_twenty_items_bring_one_warning_that_names_fields_and_setting(warned: pytest.LogCaptureFixture) -> None:
    unexamined = UnexaminedItems()
    for _ in range(WARN_AFTER - 1):
        unexamined.note(ItemView({"author": "a", "price": 1}))
    assert warned.messages == []
    for _ in range(100):
        unexamined.note(ItemView({"author": "a", "price": 1, "late": 2}))
    [message] = warned.messages
    assert message.startswith("20 items were not examined for duplicates: no text. Their fields: author, price")
    assert "DEDUP_TEXT_FIELD = 'NAME'" in message


def test_a_few_are_told_of_at_the_end(warned: pytest.LogCaptureFixture) -> None:
    unexamined = UnexaminedItems()
    unexamined.note(ItemView(Price(1, "EUR")))
    unexamined.note(ItemView(None), NO_ITEM)
    unexamined.warn_at_the_end(40)
    assert warned.messages == [
        (
            "1 item of Price (of 42 items in all) was not examined for duplicates: no text. Their fields: amount, "
            "currency. Name the one with the text: DEDUP_TEXT_FIELD = {'Price': 'NAME'}, or None in the place of "
            "'NAME' if they have none"
        ),
        (
            "1 item of NoneType (of 42 items in all) was not examined for duplicates: no item. The stage has to "
            "stand before the pipeline that makes them of items: DEDUP_AFTER, or ITEM_PIPELINES"
        ),
    ]


def test_nothing_is_said_where_all_were_examined(warned: pytest.LogCaptureFixture) -> None:
    UnexaminedItems().warn_at_the_end(17)
    assert warned.messages == []


def test_settings_that_nobody_knows_are_named_with_the_nearest() -> None:
    settings = Settings({"DEDUP_TALBES": 3, "DEDUP_TABLES": 3, "DEDUP_TEXT_FIELD": "a", "DEDUP_AFTER": 1, "DEDUPED": 1})
    settings.set("DEDUP_QQQQ", 1)
    assert list(unknown_settings(settings)) == [
        "DEDUP_QQQQ is no setting of dedup",
        "DEDUP_TALBES is no setting of dedup: is DEDUP_TABLES meant?",
    ]


def test_warning_names_some_fields_of_items_with_thousands(warned: pytest.LogCaptureFixture) -> None:
    unexamined = UnexaminedItems()
    for _ in range(WARN_AFTER):
        unexamined.note(ItemView({f"field {number}": number for number in range(5000)}))
    [(_, fields, _, _)] = unexamined.rows()
    assert len(fields) == 20
    assert len(warned.messages[0]) < 1000
