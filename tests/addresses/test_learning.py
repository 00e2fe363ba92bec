"""Rules that say which addresses lead to copies, learnt from verdicts, and false in a corner."""

from __future__ import annotations

import pytest

from dedup.addresses.evidence import MOST_SEEN, PAIRS, PAIRS_OF_SIBLING
from dedup.addresses.learning import AddressRules
from dedup.addresses.rule import AddressRule

SITE = "http://a.example"


def learnt(pairs: int, path: str = "/forum/{}?sid={}") -> AddressRules:
    rules = AddressRules()
    for number in range(pairs):
        rules.note_kept(SITE + path.format(number, 1))
        rules.note_copy(SITE + path.format(number, 2), SITE + path.format(number, 1))
    return rules


def test_rule_acts_after_enough_pairs_where_the_other_address_was_seen() -> None:
    assert learnt(PAIRS - 1).find(f"{SITE}/forum/1?sid=9") is None
    rules = learnt(PAIRS)
    assert rules.find(f"{SITE}/forum/1?sid=9") == ((AddressRule("parameter", ("sid",)),), "a.example/forum")
    assert rules.find(f"{SITE}/forum/new?sid=9") is None
    assert rules.find(f"{SITE}/forum/1?sid=1") is None  # it is what was seen
    assert rules.find(f"{SITE}/shop/1?sid=9") is None
    assert rules.find("http://b.example/forum/1?sid=9") is None
    assert not rules.take_fallen()
    [(site, rule, evidence)] = rules.acting()
    assert (site, str(rule), evidence.scopes()) == ("a.example", "without sid", ["/forum/"])


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


def given(*rules: AddressRule) -> AddressRules:
    """Return what was learnt from three pairs that differ in two parameters, by rules that a user gives."""
    known = AddressRules({"example": set(rules)})
    for number in range(PAIRS_OF_SIBLING):
        known.note_kept(f"{SITE}/forum/{number}?sid=1")
        known.note_copy(f"{SITE}/forum/{number}?sid=2&view=old", f"{SITE}/forum/{number}?sid=1")
    return known


@pytest.mark.parametrize(
    "rule", [AddressRule("parameter", ("other", "sid", "view")), AddressRule("except", ("id",)), AddressRule("except")]
)
def test_rules_that_a_user_gives_for_a_domain_are_confirmed_by_fewer_pairs(rule: AddressRule) -> None:
    assert given().find(f"{SITE}/forum/1?view=new") is None
    known = given(rule)
    assert known.find(f"{SITE}/forum/1?view=new") == ((rule,), "a.example/forum")
    assert known.find(f"{SITE}/forum/1?id=2") is None or rule == AddressRule("except")
    assert [each for _, each, _ in known.acting()] == [rule]


def test_value_of_a_parameter_that_makes_no_difference_anyway_is_not_told() -> None:
    rules = AddressRules()
    for number in range(PAIRS):
        rules.note_kept(f"{SITE}/t/{number}?id=1")
        rules.note_copy(f"{SITE}/t/{number}?id=1&lang=en", f"{SITE}/t/{number}?id=1")
    assert [str(rule) for _, rule, _ in rules.acting()] == ["without lang"]
    rules.note_kept(f"{SITE}/t/1?id=1&lang=de")
    assert [str(rule) for _, rule, _ in rules.acting()] == ["without lang=en"]
