"""Two addresses name the rules by which they are one."""

from __future__ import annotations

import pytest

from dedup.addresses.address import parse
from dedup.addresses.finding import find_rules
from dedup.addresses.rule import AddressRule

SITE = "http://a.example"


def rules_of(a: str, b: str) -> list[AddressRule]:
    ours, theirs = parse(a), parse(b)
    assert ours is not None
    assert theirs is not None
    found = find_rules(ours, theirs)
    assert find_rules(theirs, ours) == found
    assert all(rule.form_of(ours) == rule.form_of(theirs) for rule in found)
    return found


@pytest.mark.parametrize(
    ("a", "b", "rules"),
    [
        ("/t?id=1&sid=2", "/t?id=1&sid=3", [AddressRule("parameter", ("sid",))]),
        ("/t?id=1", "/t?utm_source=x&id=1&ref=y", [AddressRule("parameter", ("ref", "utm_source"))]),
        (
            "/t;jsessionid=A1?id=1",
            "/t?id=1",
            [AddressRule("parameter", (";jsessionid",)), AddressRule("default", (";jsessionid", "A1"))],
        ),
        ("/t?lang=en", "/t", [AddressRule("parameter", ("lang",)), AddressRule("default", ("lang", "en"))]),
        ("/t?a=1&b=2", "/t?b=2&a=1", [AddressRule("order")]),
        ("/index.php?title=A&x=1", "/wiki/A?x=1", [AddressRule("name", ("index.php", "title", "wiki"))]),
        ("/t?id=17", "/17", [AddressRule("name", ("t", "id", ""))]),
        ("/news/1", "/print/news/1", [AddressRule("segment", ("print",))]),
        ("/news/1/amp", "/news/1", [AddressRule("segment", ("amp",))]),
        ("/news/", "/news", [AddressRule("segment", ("",))]),
        ("/a//b", "/a/b", [AddressRule("segment", ("",))]),
        ("/news/a.html", "/news/a", [AddressRule("suffix", (".html",))]),
        ("/sale/x-17", "/shoes/x-17", [AddressRule("value", ("0", "sale", "shoes"))]),
        ("/2023/x", "/2024/x", []),
        ("/news/12", "/news/1", []),
        ("/news/one", "/news/two", []),
        ("/a/b/c", "/x/y/c", []),
        ("/t?a=1&b=2&c=3&d=4", "/t", []),
        ("/t?id=17&x=1", "/17?y=2", []),
    ],
)
def test_two_addresses_name_what_makes_no_difference(a: str, b: str, rules: list[AddressRule]) -> None:
    assert rules_of(SITE + a, SITE + b) == rules


def test_hosts_of_one_site_and_addresses_that_are_none() -> None:
    assert rules_of(f"{SITE}/a", "https://www.a.example/a") == [AddressRule("origin", (SITE, "https://www.a.example"))]
    assert [parse(url) for url in ("", "about:blank", "http://[broken/", f"{SITE}/{'x' * 2_000}")] == [None] * 4


def test_words_that_are_not_utf_8_are_told_apart() -> None:
    assert parse(f"{SITE}/tag?t=%D4%C5") != parse(f"{SITE}/tag?t=%C4%D5")
