"""The order of arrival: what `python -m benchmarks order` measures, in short and on pages of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.order import Arrival, Decided, Findings, add
from dedup.evaluation import LabelledPair
from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.signature.signing import make_signature
from tests.texts import document, edited, extended, filled_in, form
from tests.waiting import HANG

pytestmark = pytest.mark.slow

STORIES = 8


def write_set(folder: Path) -> None:
    """Write a labelled set: stories with edited and longer copies, forms, a chain of edits that drifts away."""
    documents, pairs = [], []
    for story in range(STORIES):
        text = document(150, f"story {story}")
        texts = [text, text, edited(text, 2, story), extended(text, 10, story), edited(text, 4, f"more {story}")]
        names = [f"s{story}c{at}" for at in range(len(texts))]
        documents += [
            {"id": name, "text": each, "cluster": f"s{story}"} for name, each in zip(names, texts, strict=True)
        ]
        pairs += [{"a": names[0], "b": name, "label": 1} for name in names[1:]]
        pairs.append({"a": names[0], "b": f"s{(story + 1) % STORIES}c0", "label": 0})
        blank = form(150, 11, f"form {story}")
        documents += [{"id": f"f{story}", "text": blank}, {"id": f"f{story}other", "text": filled_in(blank)}]
        pairs.append({"a": f"f{story}", "b": f"f{story}other", "label": 0})
    text = document(150, "chain")
    for step in range(8):
        documents.append({"id": f"chain{step}", "text": text})
        text = edited(text, 3, f"chain {step}")
    for name, rows in (("docs.jsonl", documents), ("pairs.jsonl", pairs)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_in_any_order_duplicates_are_verified(tmp_path: Path) -> None:
    write_set(tmp_path)
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "order", "--data", str(tmp_path), "--shuffles", "4"]
    done = subprocess.run(
        [*command, "--json", str(figures)], capture_output=True, text=True, encoding="utf-8", timeout=HANG, check=False
    )
    assert done.stdout.splitlines()[-1] == "holds", done.stdout + done.stderr
    assert done.returncode == 0
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["precision"] == [1.0] * 4
    assert min(found["recall"]) > 0.99


def test_findings_tell_what_does_not_hold() -> None:
    texts = {"a": document(150, "a"), "b": document(150, "b"), "c": edited(document(150, "a"), 3)}
    arriving = {key: Document(key, make_signature(text)) for key, text in texts.items()}
    pairs = [LabelledPair("a", "c", is_duplicate=True, kind="")]
    settings = DedupSettings()
    findings = Findings()
    add(findings, Arrival([Decided("c", "a", "a")], [frozenset("ac")]), arriving, pairs, settings)
    assert findings.differing == []
    assert (findings.precision, findings.recall) == ([1.0], [1.0])
    add(
        findings,
        Arrival([Decided("b", "a", "a")], [frozenset("ab")]),
        arriving,
        pairs,
        settings,
    )
    add(findings, Arrival([Decided("c", "b", "a")], []), arriving, pairs, settings)
    assert [line.split(":")[0] for line in findings.differing] == [
        "b is no duplicate of a, by which it was found",
        "c is too far from b, the leader of its cluster",
        "recall moves from 0.0000 to 1.0000",
    ]
