"""What other fields make of two items of one text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.other_fields import (
    BETWEEN_KEYS,
    FOR_ITS_KEY,
    HEADLINE,
    MEDIUM,
    TITLE,
    ItemFields,
    have_changed,
    other_fields,
    unpacked,
)

SITE, OTHER_SITE = "city.example", "press.example"


def packed(site: str = SITE, *, named: tuple[str, ...] = (), **values: str | list[str]) -> str:
    lists = {name: [value] if isinstance(value, str) else value for name, value in values.items()}
    return ItemFields(site, lists, named).packed()


fields = st.builds(
    ItemFields,
    st.sampled_from([SITE, OTHER_SITE]),
    st.dictionaries(st.sampled_from(["start", "price", "room"]), st.lists(st.text(max_size=3), min_size=1)),
    st.sampled_from([(), ("start",), ("start", "room")]),
)


@given(fields)
def test_fields_are_stored_and_read(each: ItemFields) -> None:
    assert unpacked(each.packed()) == (each if each.values else ItemFields("", {}))


@given(fields, fields)
def test_other_fields_are_symmetric_and_none_differs_from_itself(one: ItemFields, other: ItemFields) -> None:
    ours, theirs = one.packed(), other.packed()
    assert other_fields(ours, ours) == []
    assert set(other_fields(ours, theirs)) == set(other_fields(theirs, ours))
    assert set(other_fields(ours, theirs)) <= set(one.values) | set(other.values)


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        (packed(start="1 may"), packed(start="8 may"), ["start"]),
        (packed(start="1 may", room="1"), packed(start="1 may", room="2"), ["room"]),
        (packed(start="1 may", seat="3"), packed(seat="3"), []),
        (packed(start="1 may"), packed(room="2"), ["room", "start"]),
        (packed(**{"score.ann": "1"}), packed(**{"score.bob": "1"}), ["score.ann", "score.bob"]),
        (packed(is_amp=f"{FOR_ITS_KEY}True", seat="3"), packed(seat="3", size="l"), []),
        (packed(start="1 may"), "", []),
        (packed(room="1"), packed(OTHER_SITE, room="2"), []),
        (packed(price="5"), packed(OTHER_SITE, price="6"), ["price"]),
        (packed(currentPrice="5"), packed(OTHER_SITE, currentPrice="6"), ["currentPrice"]),
        (packed(**{"价格.amount": "5"}), packed(OTHER_SITE, **{"价格.amount": "6"}), ["价格.amount"]),
        (packed(is_new=f"{FOR_ITS_KEY}True"), packed(is_new=f"{FOR_ITS_KEY}False"), []),
        (packed(**{"offer.Price": "5"}), packed(OTHER_SITE, **{"offer.Price": "6"}), ["offer.Price"]),
        (packed(named=("room",), room="1"), packed(OTHER_SITE, named=("room",), room="2"), ["room"]),
        (packed(named=("room",), room="1"), packed(OTHER_SITE, room="2"), []),
    ],
)
def test_on_one_site_any_other_value_makes_another_thing_between_sites_another_price(
    ours: str, theirs: str, names: list[str]
) -> None:
    assert other_fields(ours, theirs) == names


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        ({"start": "1 may"}, {"start": "8 may"}, ["start"]),
        ({"start": "2026-05-01"}, {"start": "may 1, 2026"}, []),
        ({"start": "2026-05-01"}, {"start": "01.05.2026"}, []),
        ({"start": "2026-05-04"}, {"start": "04/05/2026"}, []),
        ({"start": "2026-05-04"}, {"start": "05/04/2026"}, []),
        ({"start": "2026-05-04"}, {"start": "06/05/2026"}, ["start"]),
        ({"start": "2026-05-01t19:30:00z"}, {"start": "1777663800"}, []),
        ({"start": "2026-05-02t00:30:00+02:00"}, {"start": "2026-05-01t22:30:00z"}, []),
        ({"start": ["2026-05-01", "2026-05-08"]}, {"start": "2026-05-08"}, []),
        ({"start": "soon"}, {"start": "2026-05-01"}, ["start"]),
        ({"start": "may 2026"}, {"start": "2026-05-28"}, ["start"]),
        ({"deadline": "1. mai 2026"}, {"deadline": "2. mai 2026"}, ["deadline"]),
        ({"start": "1" * 29 + " m jan"}, {"start": "2026-05-01"}, ["start"]),
        ({"start": "1 may 2026 19:30:00 pst"}, {"start": "2026-05-01"}, []),
        ({"event_date": "2026-05-01"}, {"event_date": "2026-05-08"}, ["event_date"]),
        ({"活动时间": "2026-05-01"}, {"活动时间": "2026-05-08"}, ["活动时间"]),
        ({"date": "2026-05-01"}, {"date": "2026-05-08"}, ["date"]),
        ({"date": "1. mai 2026"}, {"date": "2. mai 2026"}, ["date"]),
        ({"date": "1. mai 2026"}, {"date": "2026-05-01"}, []),
        ({"date": "3 hours ago"}, {"date": "2026-05-01"}, []),
        ({"date": "2026-05-01", "author": "ann"}, {"date": "2026-05-08", "author": "bob"}, []),
        ({"start": "2026-05-01", "source": "ann"}, {"start": "2026-05-08", "source": "bob"}, ["start"]),
        ({"datePublished": "2026-05-01"}, {"datePublished": "2026-05-08"}, []),
        ({"city": "bern"}, {"city": "basel"}, ["city"]),
        ({"city": "york"}, {"city": "new york"}, ["city"]),
        ({"工作地点": "北京"}, {"工作地点": "上海"}, ["工作地点"]),
        ({"standort": "ulm"}, {"standort": "jena"}, ["standort"]),
        ({"address": "bahnhofstrasse 1, bern"}, {"address": "bahnhofstrasse 1, basel"}, ["address"]),
        ({"location": "berlin, germany"}, {"location": "berlin"}, []),
        ({"location": "berlin, germany"}, {"location": "munich, germany"}, ["location"]),
        ({"location": "berlin"}, {"location": "online"}, []),
        ({"state": "open"}, {"state": "closed"}, []),
        ({"job.addressLocality": "bern"}, {"job.addressLocality": "chur"}, ["job.addressLocality"]),
        ({"city": "bern", "date": "2026-05-01"}, {"city": "bern", "date": "2026-05-08"}, []),
        ({"city": "bern", "start": "2026-05-01"}, {"city": "bern", "start": "2026-05-08"}, ["start"]),
        ({"country": "ch", "date": "2026-05-01"}, {"country": "ch", "date": "2026-05-08"}, ["date"]),
        ({"place": "online", "date": "2026-05-01"}, {"place": "online", "date": "2026-05-08"}, ["date"]),
        ({"city": "bern", "date": "2026-05-01"}, {"city": "chur", "date": "2026-05-08"}, ["city", "date"]),
        ({"email_address": "a"}, {"email_address": "b"}, []),
        ({"rent": "900"}, {"rent": "950"}, ["rent"]),
    ],
)  # fmt: skip
def test_between_sites_another_place_or_day_makes_another_thing(
    ours: dict[str, Any], theirs: dict[str, Any], names: list[str]
) -> None:
    assert other_fields(packed(**ours), packed(OTHER_SITE, **theirs)) == names


@pytest.mark.parametrize(
    ("ours", "theirs", "are_other"),
    [
        (["ep1.mp3"], ["ep2.mp3"], True),
        (["img/a.jpg"], ["img/a.jpg", "img/b.jpg"], False),
        (["img/a.jpg", "logo.png"], ["img/b.jpg", "logo.png"], True),
        (["img/a.jpg"], ["mirror/img/a.jpg"], False),
        (["12/master.mp3"], ["13/master.mp3"], True),
    ],
)
def test_other_media_make_another_thing_and_fewer_of_them_none(
    ours: list[str], theirs: list[str], are_other: bool
) -> None:
    one, other = ([f"{MEDIUM}{each}" for each in names] for names in (ours, theirs))
    assert other_fields(packed(media=one), packed(media=other)) == ["media"] * are_other
    assert other_fields(packed(media=one), packed(OTHER_SITE, media=other)) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "are_other", "are_other_of_long"),
    [
        ("algebra i", "algebra ii", True, True),
        ("vase - red", "vase - blue", True, True),
        ("iphone 12", "iphone 12 pro", True, False),
        ("report 2023", "report 2024", True, True),
        ("红色杯子", "蓝色杯子", True, False),
        ("keeper's letters found in the lighthouse", "letters of a keeper found in the lighthouse", True, False),
        ("the ferry", "the ferry | the gazette", False, False),
        ("the ferry", "the ferry", False, False),
    ],
)
def test_a_title_tells_things_of_one_site_apart_and_is_reworded_with_long_texts(
    ours: str, theirs: str, are_other: bool, are_other_of_long: bool
) -> None:
    for kind, expected in ((TITLE, are_other), (HEADLINE, are_other_of_long)):
        one, other = (f"{kind}{title}" for title in (ours, theirs))
        assert other_fields(packed(title=one), packed(title=other)) == ["title"] * expected
        assert other_fields(packed(title=one), packed(OTHER_SITE, title=other)) == []


@pytest.mark.parametrize(
    ("before", "now", "is_changed"),
    [
        (packed(price="5"), packed(price="6"), True),
        (packed(price="5"), packed(price="5", size="l"), True),
        (packed(price="5"), "", True),
        (packed(in_stock=f"{FOR_ITS_KEY}True"), packed(in_stock=f"{FOR_ITS_KEY}False"), True),
        (packed(crawled=f"{BETWEEN_KEYS}2026-01-01"), packed(crawled=f"{BETWEEN_KEYS}2026-01-02"), False),
        (packed(start="2026-01-03"), packed(start=f"{BETWEEN_KEYS}2026-01-03"), True),
        ("", "", False),
    ],
)
def test_under_its_key_an_item_has_changed_with_any_field_but_the_day(before: str, now: str, is_changed: bool) -> None:
    assert have_changed(before, now) is is_changed
    assert have_changed(now, before) is is_changed
