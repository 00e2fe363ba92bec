"""What other fields make of two items of one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.other_fields import (
    BETWEEN_KEYS,
    FOR_ITS_KEY,
    MEDIUM,
    ItemFields,
    are_one,
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
    assert set(other_fields(ours, theirs)) <= set(one.values) & set(other.values)


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        (packed(start="1 may"), packed(start="8 may"), ["start"]),
        (packed(start="1 may", room="1"), packed(start="1 may", room="2"), ["room"]),
        (packed(start="1 may"), packed(room="2"), []),
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
        ({"start": "2026-05-01t19:30:00z"}, {"start": "1777663800"}, []),
        ({"start": "soon"}, {"start": "2026-05-01"}, []),
        ({"start": "1" * 29 + " m jan"}, {"start": "2026-05-01"}, []),
        ({"start": "1 may 2026 19:30:00 pst"}, {"start": "2026-05-01"}, []),
        ({"event_date": "2026-05-01"}, {"event_date": "2026-05-08"}, ["event_date"]),
        ({"date": "2026-05-01"}, {"date": "2026-05-08"}, ["date"]),
        ({"date": "2026-05-01", "author": "ann"}, {"date": "2026-05-08", "author": "bob"}, []),
        ({"datePublished": "2026-05-01"}, {"datePublished": "2026-05-08"}, []),
        ({"city": "bern"}, {"city": "basel"}, ["city"]),
        ({"city": "bern"}, {"city": "3011 bern"}, []),
        ({"location": "berlin, germany"}, {"location": "berlin (de)"}, []),
        ({"location": "berlin, germany"}, {"location": "munich, germany"}, ["location"]),
        ({"job.addressLocality": "bern"}, {"job.addressLocality": "chur"}, ["job.addressLocality"]),
        ({"city": "bern", "date": "2026-05-01"}, {"city": "bern", "date": "2026-05-08"}, []),
        ({"city": "bern", "date": "2026-05-01"}, {"city": "chur", "date": "2026-05-08"}, ["city"]),
        ({"email_address": "a"}, {"email_address": "b"}, []),
    ],
)  # fmt: skip
def test_between_sites_another_place_or_day_makes_another_thing(
    ours: dict[str, str], theirs: dict[str, str], names: list[str]
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


@pytest.mark.parametrize(
    ("names", "site", "theirs", "are"),
    [
        (["room"], SITE, {"room": "2"}, True),
        (["room"], OTHER_SITE, {"room": "2"}, True),
        (["room"], SITE, {"start": "1 may"}, False),
        (["room", "start"], SITE, {"room": "2"}, False),
        (["room", "start"], OTHER_SITE, {"room": "2"}, False),
        (["room", "start"], OTHER_SITE, {"start": "may 1"}, True),
        (["room", "city"], OTHER_SITE, {"city": "3011 bern"}, True),
        ([], SITE, {"room": "2"}, False),
    ],
)
def test_the_fields_that_tell_a_thing_from_others_tell_that_it_is_one(
    names: list[str], site: str, theirs: dict[str, str], are: bool
) -> None:
    assert are_one(packed(start="1 may", room="2", city="bern"), packed(site, **theirs), names) is are
