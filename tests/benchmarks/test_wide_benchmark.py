"""The measurement of wide look-ups, on a few documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import wide
from tests.report.test_evaluate import write_set
from tests.texts import document

pytestmark = pytest.mark.slow


def test_wide_look_ups_are_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("STEPS", (500, 1_000)), ("DECISIONS", 100)):
        monkeypatch.setattr(wide, name, value)
    texts = [". ".join(document(20, (text, sentence)) for sentence in range(40)) for text in range(20)]
    documents = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    folder = write_set(tmp_path / "set", documents, [{"a": "0", "b": "1", "label": 0}])
    figures = wide.run(data=folder, n=1_000)
    assert (figures["sources"], len(figures["steps"])) == (20, 2)
