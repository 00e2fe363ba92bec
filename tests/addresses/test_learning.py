"""Rules that say which addresses lead to copies, learnt from verdicts, and false in a corner."""

from __future__ import annotations

import pytest
from hypothesis import given as given_examples
from hypothesis import strategies as st

from dedup.addresses.evidence import MOST_SEEN, PAGES_TO_EDITION, PAGES_TO_MISS, PAIRS, PAIRS_OF_SIBLING
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
        # Nothing there was passed over; with the second one the rule ends everywhere, and what it has ignored is made.
        assert rules.take_fallen() == (scope == "chess")
    assert rules.find(f"{SITE}/forum/1?sid=9") is None
    rules.note_kept(f"{SITE}/forum/1")  # alike under the rule that has ended, and so another page
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
    pages = [f"{SITE}/forum/{number}?sid=0" for number in range(PAIRS)]
    rules = AddressRules()
    rules.recall([*((url, None, False, "") for url in pages), *((f"{url[:-1]}7", url, True, "") for url in pages)])
    assert rules.find(f"{SITE}/forum/1?sid=9")


def test_rules_that_act_together_are_checked_together() -> None:
    rules = AddressRules()
    for number in range(PAIRS):
        rules.note_kept(f"{SITE}/t/{number}")
        for name in ("a", "b"):
            rules.note_copy(f"{SITE}/t/{number}?{name}={number}", f"{SITE}/t/{number}")
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


def tell_pages(rules: AddressRules, numbers: range, path: str = "/photo/{}?size={}") -> None:
    """Tell of pages that are kept, each with a copy."""
    for number in numbers:
        url = SITE + path.format(number, 1)
        rules.note_kept(url, title=f"Photo {number}")
        rules.note_copy(SITE + path.format(number, 2), url)


def test_page_that_is_similar_under_the_same_title_is_outweighed_by_fifty() -> None:
    rules = AddressRules()
    tell_pages(rules, range(PAGES_TO_EDITION))
    rules.note_kept(f"{SITE}/photo/7?size=3", f"{SITE}/photo/7?size=1", "PHOTO  7")
    assert not rules.take_fallen()
    assert rules.find(f"{SITE}/photo/8?size=4")
    assert rules.find(f"{SITE}/photo/7?size=4") is None
    [(_, _, evidence)] = rules.acting()
    assert evidence.false_in() == {}
    rules.note_kept(f"{SITE}/photo/9?size=3", f"{SITE}/photo/9?size=1", "Photo 9")
    assert rules.take_fallen()
    tell_pages(rules, range(PAGES_TO_EDITION, 2 * PAGES_TO_EDITION))
    assert rules.find(f"{SITE}/photo/8?size=4")


@pytest.mark.parametrize(
    ("similar_to", "title"),
    [
        (None, "Photo 7"),
        (f"{SITE}/photo/7?size=1", "Photo 7, and its story"),
        (f"{SITE}/photo/7?size=1", ""),
        (f"{SITE}/photo/8?size=1", "Photo 7"),
        (f"{SITE}/photo/8?size=1", "Photo 8"),
    ],
    ids=["not similar", "another title", "no title", "of another page", "another page"],
)
def test_another_page_ends_a_rule_until_a_hundred_pages_have_copies(similar_to: str | None, title: str) -> None:
    rules = AddressRules()
    tell_pages(rules, range(3 * PAIRS))
    assert rules.find(f"{SITE}/photo/8?size=4")
    rules.note_kept(f"{SITE}/photo/7?size=3", similar_to, title)
    assert rules.take_fallen()
    tell_pages(rules, range(1_000, 1_000 + PAGES_TO_MISS - 1))
    assert rules.find(f"{SITE}/photo/8?size=4") is None
    tell_pages(rules, range(2_000, 2_001))
    assert rules.find(f"{SITE}/photo/8?size=4")
    assert rules.find(f"{SITE}/photo/7?size=4") is None
    assert not rules.take_fallen()
    # What is known counts once, also when it is told again.
    rules.note_kept(f"{SITE}/photo/7?size=3", similar_to, title)
    assert rules.find(f"{SITE}/photo/8?size=4")
    rules.note_kept(f"{SITE}/photo/9?size=3")
    assert rules.take_fallen()


def test_each_other_page_asks_for_a_hundred_more() -> None:
    rules = AddressRules()
    tell_pages(rules, range(3 * PAIRS))
    for number in range(3):
        rules.note_kept(f"{SITE}/photo/{number}?size=3")
    tell_pages(rules, range(1_000, 1_000 + 3 * PAGES_TO_MISS - 1))
    assert list(rules.acting()) == []
    tell_pages(rules, range(2_000, 2_001))
    assert rules.find(f"{SITE}/photo/8?size=4")


def test_rule_that_is_wrong_for_one_page_in_ten_never_acts() -> None:
    for is_similar in (True, False):
        rules = AddressRules()
        for number in range(600):
            tell_pages(rules, range(number, number + 1))
            if number % 10 == 5:
                url = f"{SITE}/photo/{number}?size=1"
                rules.note_kept(f"{SITE}/photo/{number}?size=3", url if is_similar else None, f"Photo {number}")
            assert number < 10 or not list(rules.acting())


@pytest.mark.parametrize("is_similar", [True, False])
def test_copies_of_one_page_do_not_outweigh_another_page(*, is_similar: bool) -> None:
    # Numbers behind the last page of a list lead to its first one.
    rules = AddressRules()
    rules.note_kept(f"{SITE}/list/1", title="List")
    rules.note_kept(f"{SITE}/list/1?page=2", f"{SITE}/list/1" if is_similar else None, "List")
    for number in range(3, 3 + 5 * PAGES_TO_MISS):
        rules.note_copy(f"{SITE}/list/1?page={number}", f"{SITE}/list/1")
    rules.note_kept(f"{SITE}/list/2")
    assert rules.find(f"{SITE}/list/2?page=2") is None


@pytest.mark.parametrize("is_asked", [True, False])
def test_page_where_a_copy_alone_was_seen_ends_a_rule(*, is_asked: bool) -> None:
    rules = learnt(PAIRS)
    rules.note_copy(f"{SITE}/forum/new?sid=1", f"{SITE}/forum/1?sid=1")
    assert not is_asked or rules.find(f"{SITE}/forum/new?sid=2")
    rules.note_kept(f"{SITE}/forum/new?sid=2")
    assert rules.take_fallen()
    assert rules.find(f"{SITE}/forum/1?sid=9") is None


def test_page_where_a_copy_alone_was_seen_before_a_rule_is_outweighed_by_pairs() -> None:
    rules = AddressRules()
    rules.note_kept(f"{SITE}/forum/1?sid=1")
    rules.note_copy(f"{SITE}/forum/new?sid=1", f"{SITE}/forum/1?sid=1")
    rules.note_kept(f"{SITE}/forum/new?sid=2")
    tell_pages(rules, range(100, 100 + PAIRS), "/forum/{}?sid={}")
    assert rules.find(f"{SITE}/forum/100?sid=9")


def test_another_page_is_held_against_the_rule_that_alone_makes_it_one() -> None:
    rules = AddressRules()
    tell_pages(rules, range(3 * PAIRS))
    tell_pages(rules, range(2 * PAIRS), "/photo/x{}?size=1&sid={}")
    for size in (1, 2):
        rules.note_kept(f"{SITE}/photo/y?size={size}&sid=1")
    assert rules.take_fallen()
    assert rules.find(f"{SITE}/photo/x8?size=1&sid=9")
    tell_pages(rules, range(1_000, 1_000 + PAGES_TO_MISS))
    assert rules.find(f"{SITE}/photo/8?size=9")
    assert rules.find(f"{SITE}/photo/x8?size=1&sid=9")
    assert not rules.take_fallen()


def test_rules_that_are_wrong_together_alone_fall() -> None:
    rules = AddressRules()
    for number in range(2 * PAIRS):
        rules.note_kept(f"{SITE}/t/{number}")
        for name in ("a", "b")[: 1 + number % 2]:
            rules.note_copy(f"{SITE}/t/{number}?{name}={number}", f"{SITE}/t/{number}")
    assert rules.find(f"{SITE}/t/1?a=2&b=2")
    rules.note_kept(f"{SITE}/t/1?a=3&b=3")
    assert rules.take_fallen()
    # Of two that are wrong the one with fewer pairs.
    assert [str(rule) for _, rule, _ in rules.acting()] == ["without a"]


@given_examples(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 4), st.sampled_from(["kept", "similar", "copy"])), max_size=30
    ),
    st.sampled_from([1, PAGES_TO_EDITION, PAGES_TO_MISS]),
)
def test_address_at_which_two_pages_may_stand_is_never_passed_over(
    verdicts: list[tuple[int, int, str]], between: int
) -> None:
    rules, kept = AddressRules(), dict[int, dict[str, None]]()
    tell_pages(rules, range(1_000, 1_000 + PAIRS))
    told = set[str]()
    for at, (number, size, verdict) in enumerate(verdicts):
        url, pages = f"{SITE}/photo/{number}?size={size}", kept.setdefault(number, {})
        first = next(iter(pages), None)
        if url not in told:
            told.add(url)
            if verdict == "copy" and first:
                rules.note_copy(url, first)
            else:
                rules.note_kept(url, first if verdict == "similar" else None, f"Photo {number}")
                pages[url] = None
        start = 2_000 + PAGES_TO_MISS * at
        tell_pages(rules, range(start, start + between))
        passed_over = {each for each in kept if rules.find(f"{SITE}/photo/{each}?size=9")}
        assert all(len(kept[each]) == 1 for each in passed_over)
