"""The measurement of stored decisions, on a few documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import decisions
from benchmarks.texts import EDITS
from tests.report.test_evaluate import write_set
from tests.texts import document


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    texts = [". ".join(document(20, (text, sentence)) for sentence in range(40)) for text in range(20)]
    documents = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    return write_set(tmp_path / "set", documents, [{"a": "0", "b": "1", "label": 0}])


@pytest.mark.thorough
@pytest.mark.slow
def test_both_databases_decide_alike(monkeypatch: pytest.MonkeyPatch, labelled: Path) -> None:
    for name, value in (("NEW", 100), ("COPIES", 100)):
        monkeypatch.setattr(decisions, name, value)
    figures = decisions.run(data=labelled, n=[600, 300])
    rows = figures["rows"]
    assert [(row["database"], row["documents"]) for row in rows] == [
        ("sqlite", 300),
        ("postgresql", 300),
        ("sqlite", 600),
        ("postgresql", 600),
    ]
    for first, second in (rows[:2], rows[2:]):
        for name in ("rows", "most_rows", "candidates", "confirmed", "recall", "wrong"):
            assert first[name] == second[name]
    for row in rows:
        assert set(row["recall"]) == set(EDITS)
        # What differs in one word of fifty is found wherever it stands, and only its original is.
        assert (row["recall"][EDITS[0]], row["confirmed"][EDITS[0]], row["wrong"]) == (1, 1, 0)
        # Half of those that are looked up are copies.
        assert row["candidates"] > 0.4
        assert min(row["bytes_a_document"], row["new"]["bytes_written"]) > 100


@pytest.mark.parametrize("wrong", [{"n": [0]}, {"databases": ["oracle"]}])
def test_what_cannot_be_measured_is_refused(labelled: Path, wrong: dict[str, list[object]]) -> None:
    with pytest.raises(ValueError, match="--n and --databases: expected"):
        decisions.run(data=labelled, **wrong)  # type: ignore[arg-type]
