"""Rules that say which addresses lead to copies, learnt from verdicts, and false in a corner."""

from __future__ import annotations

import pytest

from dedup.rules.address_rules import (
    MOST_SEEN,
    PAIRS,
    PAIRS_OF_SIBLING,
    AddressRules,
    Rule,
    find_rules,
    parse,
)

SITE = "http://a.example"


def rules_of(a: str, b: str) -> list[Rule]:
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
        ("/t?id=1&sid=2", "/t?id=1&sid=3", [Rule("parameter", ("sid",))]),
        ("/t?id=1", "/t?utm_source=x&id=1&ref=y", [Rule("parameter", ("ref", "utm_source"))]),
        (
            "/t;jsessionid=A1?id=1",
            "/t?id=1",
            [Rule("parameter", (";jsessionid",)), Rule("default", (";jsessionid", "A1"))],
        ),
        ("/t?lang=en", "/t", [Rule("parameter", ("lang",)), Rule("default", ("lang", "en"))]),
        ("/t?a=1&b=2", "/t?b=2&a=1", [Rule("order")]),
        ("/index.php?title=A&x=1", "/wiki/A?x=1", [Rule("name", ("index.php", "title", "wiki"))]),
        ("/t?id=17", "/17", [Rule("name", ("t", "id", ""))]),
        ("/news/1", "/print/news/1", [Rule("segment", ("print",))]),
        ("/news/1/amp", "/news/1", [Rule("segment", ("amp",))]),
        ("/news/", "/news", [Rule("segment", ("",))]),
        ("/a//b", "/a/b", [Rule("segment", ("",))]),
        ("/News/A", "/news/a", [Rule("case")]),
        ("/news/a.html", "/news/a", [Rule("suffix", (".html",))]),
        ("/sale/x-17", "/shoes/x-17", [Rule("value", ("0", "sale", "shoes"))]),
        ("/2023/x", "/2024/x", []),
        ("/news/12", "/news/1", []),
        ("/news/one", "/news/two", []),
        ("/a/b/c", "/x/y/c", []),
        ("/t?a=1&b=2&c=3&d=4", "/t", []),
        ("/t?id=17&x=1", "/17?y=2", []),
    ],
)
def test_two_addresses_name_what_makes_no_difference(a: str, b: str, rules: list[Rule]) -> None:
    assert rules_of(SITE + a, SITE + b) == rules


def test_hosts_of_one_site_and_addresses_that_are_none() -> None:
    assert rules_of(f"{SITE}/a", "https://www.a.example/a") == [Rule("origin", (SITE, "https://www.a.example"))]
    assert [parse(url) for url in ("", "about:blank", "http://[broken/", f"{SITE}/{'x' * 2_000}")] == [None] * 4


def learnt(pairs: int, path: str = "/forum/{}?sid={}") -> AddressRules:
    rules = AddressRules()
    for number in range(pairs):
        rules.note_kept(SITE + path.format(number, 1))
        rules.note_copy(SITE + path.format(number, 2), SITE + path.format(number, 1))
    return rules


def test_rule_acts_after_enough_pairs_where_the_other_address_was_seen() -> None:
    assert learnt(PAIRS - 1).find(f"{SITE}/forum/1?sid=9") is None
    rules = learnt(PAIRS)
    assert rules.find(f"{SITE}/forum/1?sid=9") == ((Rule("parameter", ("sid",)),), "a.example/forum")
    assert rules.find(f"{SITE}/forum/new?sid=9") is None
    assert rules.find(f"{SITE}/forum/1?sid=1") is None  # it is what was seen
    assert rules.find(f"{SITE}/shop/1?sid=9") is None
    assert rules.find("http://b.example/forum/1?sid=9") is None
    assert not rules.take_fallen()


def test_rule_acts_after_fewer_pairs_beside_another_scope_or_for_tracking_parameters() -> None:
    rules = learnt(PAIRS)
    for number in range(PAIRS_OF_SIBLING):
        assert rules.find(f"{SITE}/shop/0?sid=3") is None
        rules.note_kept(f"{SITE}/shop/{number}?sid=1")
        rules.note_copy(f"{SITE}/shop/{number}?sid=2", f"{SITE}/shop/{number}?sid=1")
    assert rules.find(f"{SITE}/shop/0?sid=3")
    assert learnt(PAIRS_OF_SIBLING, "/news/{}?utm_source={}").find(f"{SITE}/news/1?utm_source=9")


def test_second_kept_page_of_a_form_ends_the_rule_in_its_scope_and_two_everywhere() -> None:
    rules = learnt(PAIRS)
    for scope in ("gallery", "chess"):
        assert rules.find(f"{SITE}/forum/1?sid=9")
        for number in range(3):
            rules.note_kept(f"{SITE}/{scope}/same?sid={number}")
        assert not rules.take_fallen()  # nothing there was passed over
    assert rules.find(f"{SITE}/forum/1?sid=9") is None
    rules = learnt(PAIRS)
    rules.note_kept(f"{SITE}/forum/1?sid=9")
    assert rules.take_fallen()
    assert not rules.take_fallen()
    assert rules.find(f"{SITE}/forum/1?sid=8") is None


def test_what_was_kept_before_a_rule_was_thought_of_counts_against_it() -> None:
    rules = AddressRules()
    for number in range(10):
        rules.note_kept(f"{SITE}/wiki/{number}?oldid={number}")
        rules.note_kept(f"{SITE}/wiki/{number}?oldid={number + 100}")
    for number in range(3 * PAIRS):  # versions in which nothing has changed
        rules.note_copy(f"{SITE}/wiki/{number}?oldid={number + 200}", f"{SITE}/wiki/{number}?oldid={number}")
    assert list(rules.acting()) == []


def test_what_an_earlier_crawl_has_seen_is_known() -> None:
    verdicts = [(f"{SITE}/forum/{number // 2}?sid={number % 2}", None) for number in range(0, 2 * PAIRS, 2)]
    copies = [(f"{url[:-1]}7", url) for url, _ in verdicts]
    rules = AddressRules()
    rules.recall([*verdicts, *copies])
    assert rules.find(f"{SITE}/forum/1?sid=9")


def test_words_that_are_not_utf_8_are_told_apart() -> None:
    assert parse(f"{SITE}/tag?t=%D4%C5") != parse(f"{SITE}/tag?t=%C4%D5")


def test_rules_that_act_together_are_checked_together() -> None:
    rules = AddressRules()
    for number in range(PAIRS):
        rules.note_kept(f"{SITE}/t/{number}")
        for name in ("a", "b"):
            rules.note_copy(f"{SITE}/t/{number}?{name}=1", f"{SITE}/t/{number}")
    found = {rules.find(f"{SITE}/t/1?{query}") for query in ("a=2", "b=2", "a=2&b=2", "a=3&b=3")}
    assert len(found) == 3


def test_memory_is_bounded() -> None:
    rules = AddressRules()
    for number in range(6 * MOST_SEEN):
        rules.note_kept(f"http://h{number % 8}.example/{number}")
    assert rules._seen == sum(len(site.seen) for site in rules._sites.values()) <= 5 * MOST_SEEN


def test_rules_are_told_in_words() -> None:
    rules = [
        Rule("parameter", ("a", "b")),
        Rule("segment", ("",)),
        Rule("segment", ("amp",)),
        Rule("value", ("0", "x", "y")),
    ]
    told = ["without a, b", "without a further slash", "without /amp/", "/x/ is /y/"]
    assert list(map(str, rules)) == told
    assert str(Rule("origin", (SITE, f"{SITE}:80"))) == f"{SITE} is {SITE}:80"
    [(site, rule, evidence)] = learnt(PAIRS).acting()
    assert (site, str(rule), evidence.scopes()) == ("a.example", "without sid", ["/forum/"])


def given(*rules: Rule) -> AddressRules:
    """Return what was learnt from three pairs that differ in two parameters, by rules that a user gives."""
    known = AddressRules({"example": set(rules)})
    for number in range(PAIRS_OF_SIBLING):
        known.note_kept(f"{SITE}/forum/{number}?sid=1")
        known.note_copy(f"{SITE}/forum/{number}?sid=2&view=old", f"{SITE}/forum/{number}?sid=1")
    return known


@pytest.mark.parametrize("rule", [Rule("parameter", ("other", "sid", "view")), Rule("except", ("id",)), Rule("except")])
def test_rules_that_a_user_gives_for_a_domain_are_confirmed_by_fewer_pairs(rule: Rule) -> None:
    assert given().find(f"{SITE}/forum/1?view=new") is None
    known = given(rule)
    assert known.find(f"{SITE}/forum/1?view=new") == ((rule,), "a.example/forum")
    assert known.find(f"{SITE}/forum/1?id=2") is None or rule == Rule("except")
    assert [each for _, each, _ in known.acting()] == [rule]


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [
        (Rule("except", ("id",)), "/t;v=2?id=1&x=2", "/t;v=2?y=3&id=1"),
        (Rule("place", ("*/dp", "0")), "/some-title/dp/17", "/another/dp/17"),
        (Rule("place", ("shop", "1,2")), "/shop/red/small/17", "/shop/blue/large/17"),
    ],
)
def test_rules_that_are_only_given(rule: Rule, a: str, b: str) -> None:
    one, other, third = (parse(SITE + path) for path in (a, b, "/t?id=2"))
    assert one is not None
    assert other is not None
    assert third is not None
    assert rule.form_of(one) == rule.form_of(other)
    assert rule.form_of(third) == third


def test_value_of_a_parameter_that_makes_no_difference_anyway_is_not_told() -> None:
    rules = AddressRules()
    for number in range(PAIRS):
        rules.note_kept(f"{SITE}/t/{number}?id=1")
        rules.note_copy(f"{SITE}/t/{number}?id=1&lang=en", f"{SITE}/t/{number}?id=1")
    assert [str(rule) for _, rule, _ in rules.acting()] == ["without lang"]
    rules.note_kept(f"{SITE}/t/1?id=1&lang=de")
    assert [str(rule) for _, rule, _ in rules.acting()] == ["without lang=en"]
