"""What other fields make of two items of one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.other_fields import ItemFields, other_fields, unpacked

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
def test_the_order_of_two_items_makes_no_difference_and_none_is_another_one_than_itself(
    one: ItemFields, other: ItemFields
) -> None:
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
        (packed(**{"offer.Price": "5"}), packed(OTHER_SITE, **{"offer.Price": "6"}), ["offer.Price"]),
        (packed(is_named=True, start="1 may"), packed(OTHER_SITE, is_named=True, start="8 may"), ["start"]),
        (packed(is_named=True, start="1 may"), packed(OTHER_SITE, start="8 may"), []),
    ],
)
def test_on_one_site_any_other_value_makes_another_thing_between_sites_another_price(
    ours: str, theirs: str, names: list[str]
) -> None:
    assert other_fields(ours, theirs) == names
