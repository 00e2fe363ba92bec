"""What other fields make of two items of one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.other_fields import ItemFields, have_changed, other_fields, share_fields, unpacked

SITE, OTHER_SITE = "city.example", "press.example"


def packed(site: str = SITE, *, is_named: bool = False, **values: str) -> str:
    return ItemFields(site, {name: [value] for name, value in values.items()}, is_named).packed()


fields = st.builds(
    ItemFields,
    st.sampled_from([SITE, OTHER_SITE]),
    st.dictionaries(st.sampled_from(["start", "price", "room"]), st.lists(st.text(max_size=3), min_size=1)),
    st.booleans(),
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
        (packed(start="1 may"), packed(OTHER_SITE, start="8 may"), []),
        (packed(price="5"), packed(OTHER_SITE, price="6"), ["price"]),
        (packed(currentPrice="5"), packed(OTHER_SITE, currentPrice="6"), ["currentPrice"]),
        (packed(**{"价格.amount": "5"}), packed(OTHER_SITE, **{"价格.amount": "6"}), ["价格.amount"]),
        (packed(is_new="?True"), packed(is_new="?False"), []),
        (packed(**{"offer.Price": "5"}), packed(OTHER_SITE, **{"offer.Price": "6"}), ["offer.Price"]),
        (packed(is_named=True, start="1 may"), packed(OTHER_SITE, is_named=True, start="8 may"), ["start"]),
        (packed(is_named=True, start="1 may"), packed(OTHER_SITE, start="8 may"), []),
    ],
)
def test_on_one_site_any_other_value_makes_another_thing_between_sites_another_price(
    ours: str, theirs: str, names: list[str]
) -> None:
    assert other_fields(ours, theirs) == names


@pytest.mark.parametrize(
    ("before", "now", "is_changed"),
    [
        (packed(price="5"), packed(price="6"), True),
        (packed(price="5"), packed(price="5", size="l"), True),
        (packed(price="5"), "", True),
        (packed(in_stock="?True"), packed(in_stock="?False"), True),
        (packed(crawled="@2026-01-01"), packed(crawled="@2026-01-02"), False),
        (packed(start="2026-01-03"), packed(start="@2026-01-03"), True),
        ("", "", False),
    ],
)
def test_under_its_key_an_item_has_changed_with_any_field_but_the_day(before: str, now: str, is_changed: bool) -> None:
    assert have_changed(before, now) is is_changed
    assert have_changed(now, before) is is_changed


def test_fields_that_both_have_may_tell_that_they_are_one_thing() -> None:
    assert share_fields(packed(start="1 may", room="2"), packed(start="1 may"))
    assert not share_fields(packed(start="1 may"), packed(room="2"))
    assert not share_fields("", packed(room="2"))
