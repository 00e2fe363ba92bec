"""Each benchmark that needs nothing but this machine is started once, with the smallest numbers that it takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.address_sites import KINDS, truth_of
from benchmarks.addresses import is_true
from benchmarks.published import SCHEMES
from dedup.addresses.learning import AddressRules
from tests.report.html.browsing import needs_chromium
from tests.report.test_evaluate import write_set
from tests.texts import CHINESE, ENGLISH, document, edited, extended, filled_in, form

STORIES = 8
FINGERPRINTS = {
    "bigrams64": ["f3953f3b0d26c6d8", "d907674f59ba9175"],
    "counted-words": ["608f3ccdc98b0e19", "3d021009d174dbb4"],
}


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Stories with edited and longer copies, and forms that are no copies of each other."""
    documents, pairs = [], []
    for story in range(STORIES):
        text = ".\n".join(document(12, (story, sentence)).capitalize() for sentence in range(20))
        texts = [text, text, edited(text, 2, story), extended(text, 10, story)]
        names = [f"s{story}c{at}" for at in range(len(texts))]
        documents += [
            {"id": name, "text": each, "cluster": f"s{story}"} for name, each in zip(names, texts, strict=True)
        ]
        pairs += [{"a": names[0], "b": name, "label": 1} for name in names[1:]]
        blank = form(150, 11, f"form {story}")
        documents += [{"id": f"f{story}", "text": blank}, {"id": f"f{story}other", "text": filled_in(blank)}]
        pairs.append({"a": f"f{story}", "b": f"f{story}other", "label": 0})
    return write_set(tmp_path / "set", documents, pairs)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "crowding --data DATA --scheme words counted-words",
        "visits --pages 20 --rounds 1",
        pytest.param("updates --data DATA --stories 2", marks=pytest.mark.thorough),
        pytest.param("decisions --data DATA --n 300", marks=pytest.mark.thorough),
        pytest.param("frontier --n 50", marks=pytest.mark.thorough),
        pytest.param("report --n 50", marks=needs_chromium),
    ],
)
def test_a_benchmark_measures(
    command: str, labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(labelled) if each == "DATA" else each for each in command.split()]
    figures = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments, "--json", str(figures)])
    status = benchmarks.main()
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, "")
    assert printed.out
    assert json.loads(figures.read_text(encoding="utf-8"))


def test_fingerprints_never_change() -> None:
    # What jieba makes of a text is jieba's.
    found = {name: [f"{SCHEMES[name](text):x}" for text in (ENGLISH, CHINESE)] for name in FINGERPRINTS}
    assert found == FINGERPRINTS


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_the_truth_of_a_site_teaches_are_true(kind: str) -> None:
    truth = {address: content for address, content in truth_of(KINDS[kind]()).items() if content}
    known, first = AddressRules(), dict[str, str]()
    for address, content in truth.items():
        known.recall([(address, first.get(content), content in first, "")])
        first.setdefault(content, address)
    assert [str(rule) for _, rule, evidence in known.acting() if not is_true(rule, evidence, truth)] == []
