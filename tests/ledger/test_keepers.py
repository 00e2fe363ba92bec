"""Which copy of a cluster is exported: the rules, the election, and better copies that arrive later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from dedup.errors import SettingsError
from dedup.ledger.document_rows import key_digest
from dedup.rules.documents import Decision, Document, Kept, Verdict
from dedup.rules.keepers import Copy, KeeperPolicy, KeeperRuleError
from dedup.rules.settings import DedupSettings
from dedup.sql import schema
from tests.crawling import crawl
from tests.deciding import Crawl, signature_of
from tests.localsite import LocalSite, article, redirect
from tests.texts import document, edited

TEXT = document(120, "keepers")
OTHER, THIRD = document(120, "another"), document(120, "a third")


def slow_server(copy: Copy) -> int:
    """A rule of one's own: the mirror's copies are the best."""
    return int("mirror" in copy.key)


def broken(copy: Copy) -> float:
    raise ValueError("no such shelf")


def wordy(copy: Copy) -> str:
    return "best"


def fails_later(copy: Copy) -> int:
    if "trap" in copy.key:
        raise ValueError("caught")
    return 0


not_a_function = 3


# The rules


def best(*copies: Copy, policy: str = "named, https, earliest, longest, shortest") -> str:
    return KeeperPolicy.parse(policy).best(copies).key


PLAIN = Copy("http://a.example/story", 0, 2, 500)


@pytest.mark.parametrize(
    "better",
    [
        PLAIN._replace(key="http://a.example/story?x", votes=1),
        PLAIN._replace(key="https://b.example/story?x"),
        PLAIN._replace(key="http://b.example/story?x", run=1),
        PLAIN._replace(key="http://b.example/story?x", text_bytes=501),
        PLAIN._replace(key="http://b.example/s"),
    ],
)
def test_each_rule_decides_where_those_before_it_do_not(better: Copy) -> None:
    assert best(PLAIN, better) == best(better, PLAIN) == better.key


@pytest.mark.parametrize("place", range(4))
def test_a_rule_outweighs_all_that_come_after_it(place: int) -> None:
    votes, https, run, size = ((1, 0), (1, 0), (1, 2), (9, 5))
    ours = [pair[0] if at == place else pair[1] for at, pair in enumerate((votes, https, run, size))]
    theirs = [pair[1] if at <= place else pair[0] for at, pair in enumerate((votes, https, run, size))]
    one, other = (
        Copy(f"{'https' if values[1] else 'http'}://{name}", values[0], values[2], values[3])
        for name, values in (("example.com/story/of/the/bridge", ours), ("example.com", theirs))
    )
    assert best(one, other) == best(other, one) == one.key


def test_of_equal_copies_the_smallest_key_is_the_keeper() -> None:
    assert best(PLAIN._replace(key="http://b/"), PLAIN._replace(key="http://a/")) == "http://a/"


def test_the_order_of_the_rules_is_a_setting() -> None:
    secure, long = Copy("https://a.example/", 0, 1, 10), Copy("http://a.example/", 0, 1, 20)
    assert best(secure, long, policy="longest, https") == long.key
    assert best(secure, long, policy="https,longest") == secure.key


@pytest.mark.parametrize("path", ["tests.ledger.test_keepers.slow_server", "tests.ledger.test_keepers:slow_server"])
def test_a_rule_of_ones_own_is_named_by_its_import_path(path: str) -> None:
    policy = DedupSettings.read({"DEDUP_KEEPER": f"{path}, shortest"}.get).keeper
    assert policy.best([PLAIN, Copy("http://mirror.example/a/story", 0, 2, 5)]).key == "http://mirror.example/a/story"
    assert str(policy) == f"{path}, shortest"


def test_a_setting_may_hold_the_function_itself() -> None:
    policy = DedupSettings.read({"DEDUP_KEEPER": [slow_server, "https"]}.get).keeper
    assert str(policy) == "tests.ledger.test_keepers.slow_server, https"
    assert KeeperPolicy.parse(str(policy)) == policy
    assert DedupSettings.read({"DEDUP_KEEPER": slow_server}.get).keeper.rules[0][1] is slow_server


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("oldest", "there is no rule 'oldest'"),
        ("", "there is no rule ''"),
        ("https,,longest", "there is no rule ''"),
        ([], "expected at least one rule"),
        (5, "expected rules"),
        ("no_such_module.rule", "cannot be imported"),
        ("tests.ledger.test_keepers.no_such_rule", "cannot be imported"),
        ("tests.ledger.test_keepers.not_a_function", "is no function"),
        ("tests.ledger.test_keepers.broken", "no such shelf"),
        ("tests.ledger.test_keepers.wordy", "expected a number"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_at_the_start(value: object, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        DedupSettings.read({"DEDUP_KEEPER": value}.get)
    assert told in str(caught.value)
    assert "DEDUP_KEEPER" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_made_in_code_take_rules_as_text() -> None:
    values: dict[str, Any] = {"keeper": "https"}
    assert str(DedupSettings(**values).keeper) == "https"


# The election


class Shelf(Crawl):
    """A deduplicator that is shown copies by their URLs, and swaps them."""

    def put(self, key: str, text: str = TEXT, size: int = 100, **values: Any) -> Decision:
        return self.show(key, text, size, **values)

    def rows(self) -> dict[int, Any]:
        return {row.id: row for row in self.query(select(schema.documents))}

    def keepers(self) -> dict[str, str]:
        """Return keepers by the leaders of clusters with more than one member."""
        rows = self.rows()
        leaders = {row.leader_id for row in rows.values()} - {None}
        return {rows[leader].key: rows[rows[leader].keeper_id].key for leader in leaders}


@pytest.fixture
def start(database_url: str) -> Iterator[Callable[..., Shelf]]:
    shelves: list[Shelf] = []

    def starter(**values: Any) -> Shelf:
        shelves.append(Shelf(database_url, **({"swap_keeper": True} | values)))
        return shelves[-1]

    yield starter
    for shelf in shelves:
        shelf.assert_consistent()
        shelf.database.close()


@pytest.fixture
def shelf(start: Callable[..., Shelf]) -> Shelf:
    return start()


A, B, C, D = (f"http://news.example/{name}" for name in "abcd")


def test_a_better_copy_that_arrives_later_is_the_keeper_and_the_leader_leads_still(shelf: Shelf) -> None:
    assert shelf.put(A).outcome.keeper is None
    worse = shelf.put(B)
    assert (worse.original, worse.outcome.keeper, worse.outcome.keeper_changed) == (A, A, False)
    better = shelf.put(C, size=200)
    assert (better.original, better.outcome.keeper, better.outcome.keeper_changed) == (A, C, True)
    assert better.outcome.kept is Kept.KEEPER
    assert (shelf.put(D).outcome.keeper, shelf.put(C, size=200).outcome.keeper) == (C, C)
    assert shelf.keepers() == {A: C}


def test_of_two_items_of_one_key_and_two_classes_the_better_one_is_the_keeper(start: Callable[..., Shelf]) -> None:
    shelf = start(keeper="longest")
    shelf.put(A, item_class="Article")
    assert shelf.put(A, size=200, item_class="Review").outcome.keeper_changed
    for item_class in ("Article", "Review"):
        assert not shelf.put(B, size=150, item_class=item_class).outcome.keeper_changed
    [leader] = [row for row in shelf.rows().values() if row.leader_id is None]
    assert shelf.rows()[leader.keeper_id].text_bytes == 200


def test_no_copy_votes_for_itself_and_strangers_have_no_vote(shelf: Shelf) -> None:
    shelf.put("http://stranger.example/", OTHER, canonical=B)
    shelf.put(A, size=900)
    assert shelf.put(B, canonical=B).outcome.keeper == A


@pytest.mark.parametrize("canonical", ["http://copies.example/1", A])
def test_pages_of_another_site_oust_no_copy_by_what_they_name(shelf: Shelf, canonical: str) -> None:
    shelf.put(B, size=900)
    shelf.put(A)
    for number in range(20):
        shelf.put(f"http://copies.example/{number}", canonical=canonical, redirected=number == 2)
    assert shelf.keepers() == {B: B}


def test_pages_for_phones_vote_for_those_of_their_site(shelf: Shelf) -> None:
    shelf.put("https://m.news.example/story", size=900)
    shelf.put("https://www.news.example/story")
    shelf.put("https://m.news.example/story", size=900, canonical="https://www.news.example/story")
    assert shelf.keepers() == {"https://m.news.example/story": "https://www.news.example/story"}


def test_a_redirect_is_a_vote(shelf: Shelf) -> None:
    shelf.put(A, size=900)
    assert shelf.put(B, redirected=True).outcome.keeper == B
    # A redirect that was seen once is not forgotten.
    assert shelf.put(B).outcome.keeper == B


def test_a_keeper_that_becomes_another_page_is_no_keeper_any_more(shelf: Shelf) -> None:
    shelf.put(A)
    shelf.put(B)
    shelf.put(C, size=200, canonical=B)
    assert shelf.keepers() == {A: B}
    changed = shelf.put(B, OTHER)
    assert (changed.verdict, changed.outcome.keeper_changed) == (Verdict.UPDATED, True)
    assert shelf.keepers() == {A: C}


def test_a_rule_that_fails_on_a_page_writes_nothing_and_names_page_and_rule(start: Callable[..., Shelf]) -> None:
    shelf = start(keeper="tests.ledger.test_keepers.fails_later")
    shelf.put(A)
    with pytest.raises(KeeperRuleError, match=r"fails_later failed on http://trap\.example/: ValueError: caught"):
        shelf.put("http://trap.example/")
    assert len(shelf.rows()) == 1


copies = st.lists(
    st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from([None, 0, 1, 2, 3, 4]), st.booleans()),
    min_size=2,
    max_size=5,
)
numbers = count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    shelf = Shelf(f"sqlite:///{tmp_path_factory.mktemp('keepers') / 'test.db'}", swap_keeper=True)
    with closing(shelf.database):
        yield shelf


@given(copies, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_same_members_have_the_same_keeper_in_whatever_order_they_arrived(
    shared: Shelf, members: list[tuple[bool, int, int | None, bool]], chance: Random
) -> None:
    found = set()
    for _ in range(3):
        number = next(numbers)
        text = document(60, f"order {number}")
        order = list(range(len(members)))
        chance.shuffle(order)
        # Keys of the same length that sort alike in each order.
        sites = [f"http{'s' if https else ''}://{'ab'[at % 2]}{number:06}" for at, (https, *_) in enumerate(members)]
        keys = [f"{site}.example/{at}" for at, site in enumerate(sites)]
        for at in order:
            _, size, named, redirected = members[at]
            canonical = keys[named] if named is not None and named < len(keys) else None
            decision = shared.put(keys[at], text, size, canonical=canonical, redirected=redirected)
        assert decision.outcome.keeper is not None
        found.add(keys.index(decision.outcome.keeper))
    assert len(found) == 1


visits = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=9)


@given(visits, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_a_redirect_is_a_vote_whenever_its_copy_comes_for_the_first_time(
    shared: Shelf, visits: list[tuple[int, bool]], chance: Random
) -> None:
    """A page is fetched as it is, and once more by a redirect, or the other way round."""
    expected = min(visits, key=lambda visit: (not visit[1], visit[0]))[0]
    for _ in range(3):
        text = document(60, f"redirects {next(numbers)}")
        chance.shuffle(visits)
        host = f"http://h{next(numbers):06}.example"
        keys = [f"{host}/{at}" for at in range(4)]
        for at, redirected in visits:
            shared.put(keys[at], text, redirected=redirected)
        leader = keys[visits[0][0]]
        assert shared.keepers().get(leader, leader) == keys[expected]


def expected_keepers(shelf: Shelf) -> dict[str, str]:
    """Elect among all members of each cluster, from the rows alone."""
    rows = shelf.rows()
    clusters: dict[int, list[Any]] = {}
    for row in rows.values():
        clusters.setdefault(row.leader_id or row.id, []).append(row)
    keepers = {}
    for leader, members in clusters.items():
        votes = Counter(bytes(member.canonical_digest) for member in members if member.canonical_digest)
        ranked = [
            Copy(each.key, votes[key_digest(each.key)] + each.redirected, each.first_run_id, each.text_bytes)
            for each in members
        ]
        if len(members) > 1:
            keepers[rows[leader].key] = KeeperPolicy().best(ranked).key
    return keepers


@pytest.mark.parametrize("seed", range(4))
def test_whatever_changes_every_cluster_has_the_keeper_that_its_members_elect(shelf: Shelf, seed: int) -> None:
    chance = Random(seed)
    keys = [f"http{'s' if at % 3 == 0 else ''}://{host}.example/{'x' * at}" for at in range(5) for host in ("a", "b")]
    texts = [TEXT, edited(TEXT, 3), OTHER, THIRD]
    for step in range(60):
        if step == 30:
            shelf.next_run()
        key, text = chance.choice(keys), chance.choice(texts)
        canonical = chance.choice([None, None, *keys])
        decision = shelf.put(key, text, chance.randrange(3), canonical=canonical, redirected=chance.random() < 0.05)
        keepers = expected_keepers(shelf)
        assert shelf.keepers() == keepers
        if decision.verdict.is_duplicate:
            assert decision.outcome.keeper == keepers[str(decision.original)]


def test_without_swapping_the_copy_that_is_stored_is_the_keeper(
    start: Callable[..., Shelf], caplog: pytest.LogCaptureFixture
) -> None:
    shelf = start(swap_keeper=False, keeper="longest")
    assert [record.message.split(":")[0] for record in caplog.records] == ["DEDUP_KEEPER has no effect"]
    shelf.put(A)
    better = shelf.put(B, size=900, redirected=True, canonical=B)
    assert (better.outcome.keeper, better.outcome.keeper_changed, better.outcome.kept) == (A, False, None)
    assert {row.keeper_id for row in shelf.rows().values()} == {None}


def test_a_leader_that_is_passed_on_again_is_the_keeper_again(start: Callable[..., Shelf]) -> None:
    swapping = start()
    swapping.put(A)
    swapping.put(B, size=200)
    shelf = start(swap_keeper=False)
    assert not shelf.put(A).outcome.is_replaced
    assert {(row.keeper_id, row.exported_id) for row in shelf.rows().values()} == {(None, None)}


def test_a_copy_that_leaves_is_no_keeper_without_swapping(start: Callable[..., Shelf]) -> None:
    swapping = start()
    swapping.put(A)
    swapping.put(B, size=200)
    shelf = start(swap_keeper=False)
    shelf.put(B, OTHER)
    assert {(row.keeper_id, row.exported_id) for row in shelf.rows().values()} == {(None, None)}


@pytest.mark.parametrize("swap", [False, True])
def test_a_print_version_with_a_line_more_is_not_the_keeper(start: Callable[..., Shelf], swap: bool) -> None:
    shelf = start(swap_keeper=swap)
    shelf.put(A)
    for key, size in ((f"{A}?print=1", 120), (f"{A}/print", 130), (f"{A}/amp", 90), (f"{A}?sid=81", 100)):
        assert shelf.put(key, size=size).outcome.keeper == A


# Better copies in the place of others


def test_a_better_copy_is_passed_on_in_the_place_of_the_leader(shelf: Shelf) -> None:
    shelf.put(A)
    assert shelf.put(B).outcome.kept is None
    better = shelf.put(C, size=200)
    assert better.verdict is Verdict.EXACT_DUPLICATE
    assert (better.outcome.kept, better.outcome.replaces) == (Kept.KEEPER, (A,))
    best_of_all = shelf.put(D, size=300)
    assert best_of_all.outcome.kept is Kept.KEEPER
    assert set(best_of_all.outcome.replaces) == {A, C}


def test_what_was_replaced_is_not_passed_on_again(shelf: Shelf) -> None:
    shelf.put(A)
    shelf.put(B, size=200)
    again = shelf.put(A)
    assert (again.verdict, again.outcome.is_replaced) == (Verdict.UNCHANGED, True)
    # A keeper that is seen again, perhaps because its crawl was killed, is passed on again.
    keeper = shelf.put(B, size=200)
    assert (keeper.outcome.kept, keeper.outcome.replaces) == (Kept.KEEPER, (A,))


def test_copies_in_one_batch_replace_each_other(shelf: Shelf) -> None:
    batch = [Document(key, signature_of(TEXT), size) for key, size in ((A, 1), (B, 2), (C, 3))]
    outcomes = [decision.outcome for decision in shelf.deduplicator.decide(batch, shelf.run) if decision]
    assert [set(outcome.replaces) for outcome in outcomes] == [set(), {A}, {A, B}]


@pytest.mark.parametrize("is_gone", [False, True])
def test_where_the_keeper_leaves_the_others_are_looked_at_again(shelf: Shelf, is_gone: bool) -> None:
    shelf.put(A)
    shelf.put(B, size=200)
    shelf.put(C)
    if is_gone:
        shelf.deduplicator.forget([B])
    else:
        assert shelf.put(B, OTHER).verdict is Verdict.UPDATED
    undecided = shelf.deduplicator.find_undecided(0, 10, shelf.run)
    assert [key for _, key in undecided] == ([A, B, C] if is_gone else [A, C])
    again = shelf.put(A)
    assert (again.verdict, again.outcome.is_replaced) == (Verdict.NEW, False)
    assert shelf.put(C).original == A


@pytest.mark.parametrize("swap", [False, True])
def test_a_member_that_has_replaced_nobody_leaves_alone(start: Callable[..., Shelf], swap: bool) -> None:
    shelf = start(swap_keeper=swap)
    shelf.put(A, size=300)
    shelf.put(B, size=200)
    shelf.put(B, OTHER)
    assert shelf.deduplicator.find_undecided(0, 10, shelf.run) == []
    assert shelf.put(A, size=300).verdict is Verdict.UNCHANGED


def test_a_copy_that_others_made_the_keeper_is_passed_on_when_it_comes_again(shelf: Shelf) -> None:
    shelf.put(A, size=200)
    shelf.put(B)
    voter = shelf.put(C, canonical=B)
    assert (voter.outcome.keeper, voter.outcome.kept) == (B, None)
    # Until then the leader stays where it is.
    assert not shelf.put(A, size=200).outcome.is_replaced
    assert shelf.put(B).outcome.replaces == (A,)
    assert shelf.put(A, size=200).outcome.is_replaced


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_in_the_end_one_copy_is_stored_whatever_the_order(shelf: Shelf, order: tuple[int, ...]) -> None:
    stored: set[str] = set()
    for size in order:
        key = f"http://news.example/{size}"
        decision = shelf.put(key, size=size)
        if not decision.verdict.is_duplicate or decision.outcome.kept:
            stored = stored - set(decision.outcome.replaces) | {key}
    assert stored == {"http://news.example/3"}


# In a crawl


SHORT, LONG = document(150, "bridge"), document(150, "bridge") + " " + document(10, "note")


def site() -> LocalSite:
    local = LocalSite()
    local.pages |= {
        "/": article("front", ["/first", "/second", "/old"]),
        "/first": article("first", text=SHORT),
        "/second": article("second", text=LONG),
        "/old": redirect("/third"),
        "/third": article("third", text=document(100, "third")),
    }
    return local


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.slow
def test_the_stored_page_is_that_of_the_keeper_if_this_is_asked_for(tmp_path: Path, swap: bool) -> None:
    values = {"DEDUP_SWAP_KEEPER": swap, "CONCURRENT_REQUESTS": 1, "DEDUP_KEEPER": "longest"}
    with site() as local:
        done = crawl(tmp_path / "crawl.db", values, url=local.url + "/")
        first, second = local.url + "/first", local.url + "/second"
        stored = second if swap else first
        assert {first, second} & done.pages.keys() == {stored}
        assert done.summed_up("kept") == len(done.pages)
        assert ("less 1 replaced by better copies" in done.summary["kept"]) == swap
        assert done.stats.get("dedup/keeper_changed", 0) == swap
        assert done.stats.get("dedup/kept_as_keeper", 0) == swap
        assert done.stats.get("dedup/near_duplicate", 0) == (not swap)
        [row] = done.rows("SELECT * FROM dedup_documents WHERE redirected = 1")
        assert row["key"] == local.url + "/third"
        again = crawl(tmp_path / "crawl.db", values, url=local.url + "/")
        assert {first, second} & again.pages.keys() == {stored}
        assert again.summed_up("kept") == len(again.pages)
        assert again.stats.get("dedup/replaced", 0) == swap


@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.slow
def test_nothing_is_lost_where_the_better_copy_goes(tmp_path: Path, is_gone: bool) -> None:
    values = {"DEDUP_SWAP_KEEPER": True, "CONCURRENT_REQUESTS": 1, "DEDUP_KEEPER": "longest", "CRAWLER_GONE": "delete"}
    with site() as local:
        first, second = local.url + "/first", local.url + "/second"
        done = crawl(tmp_path / "crawl.db", values, url=local.url + "/")
        assert {first, second} & done.pages.keys() == {second}
        if is_gone:
            del local.pages["/second"]
        else:
            local.pages["/second"] = article("second", text=document(150, "other"))
        again = crawl(tmp_path / "crawl.db", values, url=local.url + "/", recrawl="true")
        assert {first, second} & again.pages.keys() == ({first} if is_gone else {first, second})
        assert SHORT in again.pages[first]["text"]


@pytest.mark.slow
def test_a_wrong_rule_ends_a_crawl_before_it_begins(tmp_path: Path) -> None:
    done = crawl(tmp_path / "crawl.db", {"DEDUP_KEEPER": "oldest"}, url="http://127.0.0.1:9/")
    assert done.status == 2
    assert done.says("ERROR", "DEDUP_KEEPER", "'oldest'", "shortest")
