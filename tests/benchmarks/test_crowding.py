"""The measurement of crowding, on fingerprints by hand and on a few texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.crowding import best_radius, crowding, distances, run
from tests.report.test_evaluate import write_set
from tests.texts import document, edited


def test_what_all_share_is_shared_as_often_as_there_are_values() -> None:
    same = np.array([2**63 + 5] * 3, np.uint64)
    assert [crowding(same, bits) for bits in (16, 20, 26)] == [2.0**16, 2.0**20, 2.0**26]


def test_a_bit_that_differs_parts_the_stretches_that_it_is_in() -> None:
    # Of 16 bits they start at 0, 6, ... 48 from the top.
    top, bottom, last_of_the_first = (np.array([0, value], np.uint64) for value in (1 << 63, 1, 1 << 48))
    assert crowding(top, 16) == crowding(bottom, 16) == pytest.approx(2**16 * 8 / 9)
    assert crowding(last_of_the_first, 16) == pytest.approx(2**16 * 6 / 9)


def test_half_of_the_pairs_count_half() -> None:
    assert crowding(np.array([7, 7, 2**64 - 1], np.uint64), 20) == pytest.approx(2**20 / 3)


def test_every_pair_is_at_its_distance() -> None:
    counts = distances(np.array([0, 0, 3, 2**64 - 1], np.uint64))
    assert {bits: count for bits, count in enumerate(counts.tolist()) if count} == {0: 1, 2: 2, 62: 1, 64: 2}


def test_the_best_radius_is_the_smallest_that_tells_most() -> None:
    are_copies = np.array([True, True, False, True, False])
    best, radius = best_radius(np.array([1, 4, 9, 12, 30]), are_copies)
    assert (round(best, 4), radius) == (0.8571, 12)
    assert best_radius(np.array([1, 4, 20, 12, 30]), are_copies) == (1.0, 12)


@pytest.mark.slow
def test_labelled_sets_and_plain_files_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {str(number): document(120, number) for number in range(6)} | {"short": document(30, "short")}
    copy = edited(texts["0"], 2)
    documents = [{"id": name, "text": text, "cluster": name} for name, text in texts.items()]
    documents.append({"id": "copy", "text": copy, "cluster": "0"})
    pairs = [{"a": "0", "b": "copy", "label": 1}, {"a": "0", "b": "1", "label": 0}]
    labelled = write_set(tmp_path / "set", documents, pairs)
    plain = tmp_path / "plain.jsonl"
    plain.write_text("".join(json.dumps({"text": text}) + "\n" for text in [*texts.values(), copy]), encoding="utf-8")
    specs = ["words", "counted-words"]
    first, second = run(data=[labelled, plain], scheme=specs)
    assert (first["unrelated"], first["copies"], first["others"]) == (6, 1, 1)
    assert (second["unrelated"], second["copies"]) == (7, 0)
    assert list(first["schemes"]) == specs
    assert all(each["best_f1"] == 1 for each in first["schemes"].values())
    assert all("best_f1" not in each for each in second["schemes"].values())
    assert "labelled copies" in capsys.readouterr().out


def test_an_unknown_scheme_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--scheme nothing: expected words, pairs, counted-words, bigrams64, yanyiwu"):
        run(data=[tmp_path], scheme=["nothing"])
