"""Rules of addresses as files of `duplicate-url-discarder`: written, read, and refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.addresses.address import Address
from dedup.addresses.discarder import read_discarder, to_discarder
from dedup.addresses.evidence import Evidence
from dedup.addresses.rule import AddressRule

SITE = "a.example"
PAGE = Address(f"http://{SITE}", ("1",), ())
SLASH = AddressRule("segment", ("",))
HOSTS = {AddressRule("origin", (f"{scheme}://{SITE}", f"{scheme}://www.{SITE}")) for scheme in ("http", "https")}

names = st.text("ab1[]&=?#%+ é/.", min_size=1, max_size=3)
segments = st.text("ab1[]&=%+é.", min_size=1, max_size=3)
each_rule = st.one_of(
    st.sets(names, min_size=1, max_size=3).map(lambda each: AddressRule("parameter", tuple(sorted(each)))),
    st.sets(names, max_size=3).map(lambda each: AddressRule("except", tuple(sorted(each)))),
    st.tuples(names, st.text("ab1[]&=?#%+ é/.", max_size=3)).map(lambda each: AddressRule("default", each)),
    segments.map(lambda each: AddressRule("segment", (each,))),
    st.sampled_from([("*", "0"), ("*/dp", "0"), ("shop", "1,2"), ("shop", "0,1"), ("a/*", "1")]).map(
        lambda each: AddressRule("place", each)
    ),
)


def evidence(*scopes: str, false_in: str = "") -> Evidence:
    known = Evidence(1)
    for scope in scopes:
        known.add_pair(scope, PAGE)
    if false_in:
        known.add_miss(false_in, PAGE)
    return known


@given(st.sets(each_rule), st.sets(st.sampled_from(["/", "forum", "index.php", "é"]), min_size=1), st.booleans())
def test_rules_that_are_written_are_read_again(rules: set[AddressRule], scopes: set[str], normal: bool) -> None:
    rules |= {SLASH, *HOSTS} if normal and scopes != {"/"} else set()
    known = evidence(*scopes)
    written, left = to_discarder((SITE, rule, known) for rule in rules)
    assert read_discarder(json.dumps(written)) == ({SITE: rules} if rules else {})
    assert left == 0


def test_patterns_name_where_a_rule_acts_and_no_more() -> None:
    def patterns(rule: AddressRule, *scopes: str, false_in: str = "") -> list[tuple[object, object]]:
        written, _ = to_discarder([(SITE, rule, evidence(*scopes, false_in=false_in))])
        return [(each["urlPattern"]["include"], each["urlPattern"].get("exclude")) for each in written]

    sid, folders = AddressRule("parameter", ("sid",)), ["a.example/forum/", "a.example/index.php"]
    root = (["a.example/"], ["a.example/*/", "a.example/*.*"])
    assert patterns(sid, "forum", "index.php", "/") == [(folders, None), root]
    assert patterns(sid, "forum", false_in="gallery") == [(["a.example/forum/"], ["a.example/gallery/"])]
    assert patterns(AddressRule("default", ("lang", "e n")), "l") == [(["a.example/l/?lang=e+n"], None)]
    assert patterns(AddressRule("segment", ("amp",)), "news")[-1] == (
        ["a.example/news/*/amp/", "a.example/news/*/amp|"],
        ["a.example/news/*/*/amp"],
    )


def test_rules_of_kinds_that_cannot_be_written_are_counted() -> None:
    folder = evidence("forum")
    known = [
        (SITE, AddressRule("suffix", (".html",)), folder),
        (SITE, AddressRule("parameter", (";jsessionid",)), folder),
        (SITE, AddressRule("default", ("q", "*")), folder),
        (SITE, SLASH, folder),  # a normalizer would take `www.` as well
        ("b.example", AddressRule("order"), folder),  # always so there
    ]
    assert to_discarder(known) == ([], 4)


def test_patterns_are_read_by_site_or_domain() -> None:
    includes = ["https://WWW.a.example/x/*/dp", "shop.example:8080", ""]
    rule = {"order": 1, "urlPattern": {"include": includes}, "processor": "queryRemoval", "args": ["b", "a", "b"]}
    names = {AddressRule("parameter", ("a", "b"))}
    assert read_discarder(json.dumps([rule])) == {"a.example": names, "shop.example:8080": names, "": names}
    everywhere = {"order": 1, "urlPattern": {"include": []}, "processor": "normalizer"}
    assert read_discarder(json.dumps([everywhere])) == {"": {SLASH}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "Expecting property name"),
        ("[1]", "no list of rules"),
        ('{"a": 1}', "no list of rules"),
        ('[{"order": 1}]', "a rule has no 'processor'"),
        ('[{"processor": "queryRemoval"}]', "a rule has no 'urlPattern'"),
        ('[{"processor": "queryRemoval", "urlPattern": {"include": [1]}}]', "no list of rules"),
        ('[{"processor": "queryRemoval", "urlPattern": {"include": ["/x"]}}]', "the pattern '/x' names no site"),
        ('[{"processor": "upside"}]', "it has a processor 'upside', and queryRemoval, queryRemovalExcept, "),
        ('[{"processor": ["queryRemoval"]}]', "no list of rules"),
        ('[{"processor": "subpathRemoval", "args": ["0"]}]', r"subpathRemoval cannot have the args \['0'\]"),
        ('[{"processor": "normalizer", "args": [1]}]', r"normalizer cannot have the args \[1\]"),
        ('[{"processor": "queryRemoval", "args": "sid"}]', "queryRemoval cannot have the args 'sid'"),
    ],
)
def test_what_is_no_file_of_rules_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_discarder(text)
