from __future__ import annotations

import doctest
import json
import pickle
import pydoc
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import dedup
from dedup import Deduplicator, DedupSettings, RuleSettings, SettingsError, Verdict, api, deduplicate, make_signature
from dedup import similarity as compare
from dedup.cli.main import main
from dedup.rules.table import Rule
from dedup.rules.two_texts import PairDecider
from dedup.store.database import open_existing_database
from dedup.store.erasing import erase
from dedup.store.runs import read_runs
from tests.texts import chinese, chinese_words, document, edited, filled_in, form

STORY = document(200)
TEXTS = [STORY, document(200, "other"), edited(STORY, 3), STORY.upper(), "", "brief", " brief\n", ""]
VERDICTS = ["new", "new", "near duplicate", "exact duplicate", "new", "new", "exact duplicate", "new"]
ORIGINALS = [None, None, "0", "0", None, None, "5", None]


def mixed(seed: int, count: int) -> list[str]:
    """Return texts of all lengths and both kinds of scripts, of which many are copies or edits of earlier ones."""
    random = Random(f"api {seed}")
    texts = [""]
    for number in range(count):
        length = random.choice([3, 30, 100, 300])
        is_chinese = random.random() < 0.5
        made = chinese(chinese_words(length, (seed, number))) if is_chinese else document(length, (seed, number))
        copied = random.choice(texts)
        edits = random.randrange(min(6, len(copied.split()) + 1))
        texts.append(edited(copied, edits) if edits or random.random() < 0.3 else made)
    return texts


def test_the_examples_of_the_documentation_give_what_they_say() -> None:
    assert doctest.testmod(dedup.api).failed == 0
    assert doctest.testmod(dedup.api).attempted > 5


def test_texts_are_decided_in_their_order() -> None:
    decisions = list(deduplicate(TEXTS))
    assert [decision.verdict.value for decision in decisions] == VERDICTS
    assert [decision.original for decision in decisions] == ORIGINALS
    assert [decision.key for decision in decisions] == [str(number) for number in range(len(TEXTS))]


def test_what_is_similar_is_kept_and_says_what_it_resembles() -> None:
    texts = form(200, 14), filled_in(form(200, 14))
    decision = list(deduplicate(texts))[1]
    assert (decision.verdict, decision.original, decision.rule) == (Verdict.SIMILAR, "0", Rule.REPLACED)
    assert not decision.verdict.is_duplicate
    pair = compare(*texts)
    assert (pair.is_duplicate, pair.is_similar, pair.rule) == (False, True, Rule.REPLACED)
    assert not compare(STORY, document(200, "other")).is_similar
    assert not compare(STORY, STORY).is_similar


def test_texts_are_read_as_decisions_are_taken() -> None:
    read = []

    def endless() -> Iterator[str]:
        while True:
            read.append(len(read))
            yield STORY

    decisions = deduplicate(endless())
    assert read == []
    assert [next(decisions).verdict, next(decisions).verdict] == [Verdict.NEW, Verdict.EXACT_DUPLICATE]
    assert len(read) == 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_the_verdicts_are_those_of_files_and_of_a_database(seed: int, tmp_path: Path) -> None:
    texts = [(f"text {number}", text) for number, text in enumerate(mixed(seed, 60))]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts), encoding="utf-8")
    assert main(["files", str(source), "-o", str(tmp_path / "out"), "--processes", "1"]) == 0
    rows = [
        json.loads(line)
        for name in ("dropped", "similar")
        for line in (tmp_path / f"out/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    by_files = {row["key"]: (row["verdict"], row["original"], row["matched"], row["rule"]) for row in rows}
    in_memory = list(deduplicate(texts))
    found = {
        each.key: (each.verdict.value, each.original, each.details.matched, each.rule and each.rule.short)
        for each in in_memory
        if each.original
    }
    assert found == by_files
    assert found
    assert list(deduplicate(texts, database=f"sqlite:///{tmp_path / 'texts.db'}")) == in_memory


def test_rules_are_given_by_their_names() -> None:
    assert [each.verdict for each in deduplicate([STORY, edited(STORY, 8)], min_jaccard=1, caution="careful")] == [
        Verdict.NEW,
        Verdict.SIMILAR,
    ]
    assert not compare(STORY, edited(STORY, 3), mode="paper", scheme="pairs").is_duplicate


def test_a_database_remembers_from_one_call_to_the_next(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'texts.db'}"
    first = list(deduplicate([("a", STORY), ("a", document(200, "other"))], database=url, run="first"))
    assert [decision.verdict for decision in first] == [Verdict.NEW, Verdict.NEW]
    assert first[1].details.is_separate
    [second] = deduplicate([("b", edited(STORY, 3))], database=url, run="second")
    assert (second.verdict, second.original) == (Verdict.NEAR_DUPLICATE, "a")
    database = open_existing_database(url)
    assert [(run.name, run.state) for run in read_runs(database)] == [("first", "finished"), ("second", "finished")]
    database.close()


def test_a_deduplicator_needs_no_run_and_tells_an_update_from_a_copy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'texts.db'}"
    with Deduplicator(url) as deduplicator:
        assert deduplicator.decide("a", STORY).verdict is Verdict.NEW
        assert deduplicator.decide("b", make_signature(STORY)).original == "a"
        assert deduplicator.decide("a", STORY).verdict is Verdict.UNCHANGED
        assert deduplicator.decide("a", document(200, "other")).verdict is Verdict.UPDATED
        deduplicator.forget(["a", "unknown"])
        assert deduplicator.decide("c", document(200, "other")).verdict is Verdict.NEW
        assert deduplicator.decide_all([]) == []


def test_an_error_of_the_user_leaves_a_run_that_was_stopped(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'texts.db'}"

    def fail() -> None:
        with Deduplicator(DedupSettings(database_url=url), run="mine") as deduplicator:
            deduplicator.decide("a", STORY)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    database = open_existing_database(url)
    assert [(run.name, run.state) for run in read_runs(database)] == [("mine", "stopped")]
    database.close()


def test_a_pair_is_decided_as_the_check_of_pairs_decides() -> None:
    near = edited(STORY, 3)
    found = compare(STORY, near)
    expected = PairDecider(DedupSettings()).decide(make_signature(STORY), make_signature(near))
    assert found == expected
    assert found.is_duplicate
    assert 0 < found.similarity.jaccard < 1


def test_what_cannot_be_used_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="DEDUP_MIN_JACCARD = 99"):
        deduplicate([], min_jaccard=99)
    with pytest.raises(SettingsError, match="DEDUP_RADIUS = 9: words decide"):
        deduplicate([], radius=9)
    for given, message in {
        "threshold": "unknown rule 'threshold'; did you mean min_jaccard[?] All: scheme, dictionary, mode",
        "min_jacard": "did you mean min_jaccard[?]",
        "num_perm": "unknown rule 'num_perm'; there are scheme, dictionary, mode",
        "outage_timeout": "unknown rule 'outage_timeout'",
    }.items():
        with pytest.raises(TypeError, match=message):
            deduplicate([], **{given: 0.8})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text 1: expected a string or a pair of key and text, not int"):
        list(deduplicate(["a", 7]))  # type: ignore[list-item]
    for pair, message in {
        (7, STORY): "text 0: the key is of type int, expected a string: str[(]key[)]",
        ("a", None): "text 0: the text is of type NoneType, expected a string",
    }.items():
        with pytest.raises(TypeError, match=message):
            list(deduplicate([pair]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match="text 0: what a database remembers needs a key"):
        list(deduplicate(["a"], database=tmp_path / "texts.db"))
    assert not (tmp_path / "texts.db").exists()
    with pytest.raises(SettingsError, match="is not a database URL"):
        Deduplicator("://texts")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (STORY, "not one str: deduplicate([text])"),
        ({"a": STORY}, "not one dict: deduplicate(texts.items())"),
        (pa.table({"text": [STORY]}), "not one Table: deduplicate(zip(frame['url'], frame['text']))"),
    ],
)
def test_what_is_not_many_texts_is_refused_with_the_line_to_write(given: Any, line: str) -> None:
    with pytest.raises(TypeError, match=re.escape(line)):
        deduplicate(given)


@pytest.mark.parametrize(
    ("method", "given", "line"),
    [
        ("forget", "abc", "expected many keys, not one str: forget([key])"),
        ("forget", pa.table({"url": ["a"]}), "not one Table: forget(frame['url'])"),
        ("forget", ["a", 7], "key 1: it is of type int, expected a string: str(key)"),
        ("forget", [b"a"], "key 0: it is of type bytes, expected a string: key.decode()"),
        ("decide_all", "abc", "expected many texts, not one str: decide_all([(key, text)])"),
        ("decide_all", ["qr"], "text 0: what a database remembers needs a key: give pairs of key and text"),
        ("decide_all", {"a": STORY}, "not one dict: decide_all(texts.items())"),
        ("decide_all", pa.table({"text": [STORY]}), "decide_all(zip(frame['url'], frame['text']))"),
        ("decide_all", [("d", STORY), (7, STORY)], "text 1: the key is of type int, expected a string: str(key)"),
        ("decide_all", [("d", None)], "text 0: the text is of type NoneType, expected a string"),
        ("decide_all", [7], "text 0: expected a pair of key and text, not int"),
    ],
)
def test_a_deduplicator_refuses_what_is_no_pairs_or_keys(method: str, given: Any, line: str, tmp_path: Path) -> None:
    with Deduplicator(tmp_path / "texts.db") as deduplicator:
        deduplicator.decide("a", STORY)
        with pytest.raises(TypeError, match=re.escape(line)):
            getattr(deduplicator, method)(given)
        assert deduplicator.find(STORY).original == "a"


def test_the_named_arguments_are_the_fields_of_the_settings() -> None:
    rules, settings = ({each.name for each in fields(kind)} for kind in (RuleSettings, DedupSettings))
    assert api.Rules.__annotations__.keys() == rules
    assert api.Settings.__annotations__.keys() == settings - {"database_url"}


def test_the_module_lists_what_is_there() -> None:
    assert set(dedup.__all__) <= set(dir(dedup))
    assert "class Deduplicator" in pydoc.render_doc(dedup, renderer=pydoc.plaintext)


def test_a_decision_is_printed_in_a_line() -> None:
    new, near = deduplicate([("a\n", STORY), ("b", edited(STORY, 3))])
    assert str(new).endswith(": new")
    assert re.fullmatch(r"b: near duplicate of a.?, \d\d% alike: most of the text is the same", str(near))
    assert str(compare(STORY, edited(STORY, 3))) == "duplicate" + str(near)[str(near).index(",") :]
    assert str(compare("brief", "brief")) == "duplicate, 100% alike: the same text"
    assert re.fullmatch(r"different, \d% alike: nothing in common", str(compare(STORY, document(200, "other"))))
    assert re.match(r"similar, \d\d% alike: ", str(compare(form(200, 14), filled_in(form(200, 14)))))


def test_a_table_of_decisions_has_what_a_user_needs() -> None:
    new, copy = deduplicate([("a", STORY), ("b", STORY)])
    assert asdict(copy) == {
        "key": "b",
        "verdict": Verdict.EXACT_DUPLICATE,
        "original": "a",
        "similarity": 1.0,
        "rule": Rule.SAME_TEXT,
        "lost": 0,
    }
    assert repr(new).count("=") == 6
    assert pickle.loads(pickle.dumps(copy)).details == copy.details
    assert pickle.loads(pickle.dumps(Rule.JACCARD)) is Rule.JACCARD


def test_a_look_up_is_decided_as_a_new_text_and_remembers_nothing(tmp_path: Path) -> None:
    with Deduplicator(tmp_path / "texts.db") as deduplicator:
        assert deduplicator.find(STORY).verdict is Verdict.NEW
        assert deduplicator.decide("a", STORY).verdict is Verdict.NEW
        for text in (STORY, edited(STORY, 3), "", document(200, "other"), STORY + document(60, 1)):
            assert deduplicator.find(text) == list(deduplicate([("a", STORY), ("b", text)]))[1]
        assert deduplicator.find(STORY, key="a").verdict is Verdict.EXACT_DUPLICATE
    database = open_existing_database(f"sqlite:///{tmp_path / 'texts.db'}", read_only=False)
    [run] = read_runs(database)
    assert sum(run.documents.values()) == 1
    erase(database, "a", with_copies=False, is_tried=False)
    database.close()
    with Deduplicator(tmp_path / "texts.db") as deduplicator:
        assert deduplicator.find(STORY).rule is Rule.ERASED


def test_threads_share_one(tmp_path: Path) -> None:
    texts = [(f"{number}", document(60, number % 20)) for number in range(60)]
    with Deduplicator(tmp_path / "texts.db") as deduplicator, ThreadPoolExecutor(8) as threads:
        verdicts = Counter(each.verdict for each in threads.map(lambda pair: deduplicator.decide(*pair), texts))
    assert verdicts == {Verdict.NEW: 20, Verdict.EXACT_DUPLICATE: 40}
    database = open_existing_database(f"sqlite:///{tmp_path / 'texts.db'}")
    assert len(read_runs(database)) == 1
    database.close()


def test_what_is_no_text_and_what_is_no_key_is_named(tmp_path: Path) -> None:
    wrong: Any = None
    with pytest.raises(TypeError, match="b is of type NoneType, expected a string"):
        compare(STORY, wrong)
    with Deduplicator(f"sqlite:///{tmp_path / 'texts.db'}") as deduplicator:
        for pair, said in {
            ("a", wrong): "the text is of type NoneType, expected a string",
            (7, STORY): "the key is of type int, expected a string: str(key)",
            (b"a", STORY): "the key is of type bytes, expected a string: key.decode()",
        }.items():
            with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
                deduplicator.decide(*pair)
            with pytest.raises(TypeError, match=f"^text 0: {re.escape(said)}$"):
                deduplicator.decide_all([pair])


def test_nothing_is_decided_once_it_is_closed(tmp_path: Path) -> None:
    with Deduplicator(f"sqlite:///{tmp_path / 'texts.db'}") as deduplicator:
        deduplicator.decide("a", STORY)
    with pytest.raises(ValueError, match="is closed"):
        deduplicator.decide("b", STORY)
    deduplicator.close()
