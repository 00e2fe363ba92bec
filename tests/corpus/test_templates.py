"""Documents that are filled in from one template each have words of their own, and are no copies of each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from dedup.corpus.texts import decide_texts
from dedup.rules.decisions import Decision
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule
from tests.corpus.test_files_command import dedup, rows_of, write
from tests.texts import document, edited, words

PROMPT, MIDDLE, END = document(312, "prompt"), document(150, "middle"), document(100, "end")


def said(count: int, *seed: object) -> str:
    return " ".join(words(count, f"said {seed}"))


def chat(number: int) -> str:
    return f"{PROMPT}\nUser: {said(7, number, 'asked')}?\nAssistant: {said(6, number, 'answered')}."


def call(number: int) -> str:
    return f"{PROMPT} Call: {said(1, number)} with {said(6, number, 'given')}. {MIDDLE} Result: {said(7, number)}."


def form(number: int) -> str:
    return f"Reasons: {MIDDLE} {said(6, number, 'first')}. {END} Wishes: {said(8, number)}. {document(90, 'last')}"


def exam(number: int) -> str:
    return f"Read this and answer. {PROMPT} Question: {said(14, number)}?"


def decided(texts: list[str], folder: Path) -> list[Decision]:
    return list(decide_texts([(str(number), text) for number, text in enumerate(texts)], RuleSettings(), folder))


@pytest.mark.parametrize("seed", [1, 20, 38, 44])
@pytest.mark.parametrize("make", [chat, call, form, exam])
def test_ten_of_ten_are_kept_and_the_copies_of_each_are_its_own(
    make: Callable[[int], str], seed: int, tmp_path: Path
) -> None:
    filled = [make(number) for number in range(10)]
    (tmp_path / "once").mkdir()
    found = decided(filled, tmp_path / "once")
    assert [each.original for each in found] == [None] + 9 * ["0"]
    assert [each.rule for each in found] == [None] + 9 * [Rule.OWN_WORDS]
    assert not any(each.is_dropped for each in found)
    # Copies in any order, edited or not, among them.
    shown = [(number, text) for number, own in enumerate(filled) for text in (own, edited(own, 2, number), own.upper())]
    Random(seed).shuffle(shown)
    (tmp_path / "often").mkdir()
    found = decided([text for _, text in shown], tmp_path / "often")
    firsts: dict[int, str] = {}
    for place, (number, _) in enumerate(shown):
        is_first = number not in firsts
        firsts.setdefault(number, str(place))
        assert (found[place].is_dropped, found[place].original == firsts[number]) == (not is_first, not is_first)


@pytest.mark.parametrize("others", [2, 5])
def test_copies_of_one_story_of_which_some_have_another_headline_stay_copies(others: int, tmp_path: Path) -> None:
    story = document(300, "story")
    texts = [
        f"{said(9, 'own')}. {story}",
        *(f"{said(9, 'own')}. {edited(story, 3, number)}" for number in range(others)),
    ]
    texts += [f"{said(9, number)}. {story}" for number in range(others)]
    assert [each.is_dropped for each in decided(texts, tmp_path)] == [False] + [True] * (2 * others)


def test_they_are_named_as_similar_and_lead_clusters_of_their_own(tmp_path: Path) -> None:
    texts = [chat(0), chat(1), edited(chat(1), 1), chat(2), chat(2), *map(chat, range(3, 8))]
    write(tmp_path / "in.jsonl", [{"id": str(number), "text": text} for number, text in enumerate(texts)])
    done = dedup("in.jsonl", "-o", "out", "--cluster-fields", "--save-index", "index", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = [(row["id"], row["copies"], row["cluster"]) for row in rows_of(tmp_path / "out/kept.jsonl")]
    assert kept == [("0", 1, "0"), ("1", 2, "1"), ("3", 2, "3"), *((key, 1, key) for key in "56789")]
    similar = [(row["key"], row["original"], row["rule"]) for row in rows_of(tmp_path / "out/similar.jsonl")]
    assert similar == [(key, "0", "own_words") for key in "1356789"]
    clusters = [row["keys"] for row in rows_of(tmp_path / "out/clusters.jsonl")]
    assert clusters == [["1", "2"], ["3", "4"]]
    # What an index knows of them stands for what comes.
    write(tmp_path / "more.jsonl", [{"id": "a", "text": edited(chat(2), 1, "a")}, {"id": "b", "text": chat(9)}])
    done = dedup("more.jsonl", "--against", "index", "-o", "more", "--json", folder=tmp_path)
    assert [(row["key"], row["original"]) for row in rows_of(tmp_path / "more/dropped.jsonl")] == [("a", "3")]
    assert json.loads(done.stdout)["similar"] == 1
