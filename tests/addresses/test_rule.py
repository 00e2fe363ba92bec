"""Rules of addresses: the forms that they make, and their words."""

from __future__ import annotations

import pytest

from dedup.addresses.address import parse
from dedup.addresses.rule import AddressRule

SITE = "http://a.example"


def test_rules_are_told_in_words() -> None:
    rules = [
        AddressRule("parameter", ("a", "b")),
        AddressRule("segment", ("",)),
        AddressRule("segment", ("amp",)),
        AddressRule("value", ("0", "x", "y")),
    ]
    told = ["without a, b", "without a further slash", "without /amp/", "/x/ is /y/"]
    assert list(map(str, rules)) == told
    assert str(AddressRule("origin", (SITE, f"{SITE}:80"))) == f"{SITE} is {SITE}:80"


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        (AddressRule("except", ("id",)), "/t;v=2?id=1&x=2", "/t;v=2?y=3&id=1"),
        (AddressRule("place", ("*/dp", "0")), "/some-title/dp/17", "/another/dp/17"),
        (AddressRule("place", ("shop", "1,2")), "/shop/red/small/17", "/shop/blue/large/17"),
    ],
)
def test_rules_that_are_only_given(rule: AddressRule, a: str, b: str) -> None:
    one, other, third = (parse(SITE + path) for path in (a, b, "/t?id=2"))
    assert one is not None
    assert other is not None
    assert third is not None
    assert rule.form_of(one) == rule.form_of(other)
    assert rule.form_of(third) == third
