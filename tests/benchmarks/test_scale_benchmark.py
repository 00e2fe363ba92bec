"""The measurements behind the plan for more documents than fit a machine, on a few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import scale, scale_plan
from benchmarks.crowds import Crowd, sums_of
from benchmarks.edited_texts import EDITS, Texts
from tests.report.test_evaluate import write_set
from tests.texts import document

REAL = [". ".join(document(20, (text, sentence)) for sentence in range(40)) for text in range(20)]


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts(REAL)


def test_the_sum_of_a_text_is_that_of_its_sentences(texts: Texts) -> None:
    crowd = Crowd.of(texts)
    whole = " ".join(word for sentence in texts.sentences[1] for word in sentence)
    of_sentences = crowd.sums[crowd.sources[1] : crowd.sources[2]].sum(axis=0)
    np.testing.assert_array_equal(of_sentences, sums_of(whole))


def test_drawn_fingerprints_are_the_same_in_every_run_and_crowd(texts: Texts) -> None:
    crowd = Crowd.of(texts)
    first, again, other = (crowd.fingerprints(part, 500) for part in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(np.concatenate([first, other]))) > 900
    # Random ones differ in 32 bits on average, with a standard deviation of 4.
    assert np.bitwise_count(first[:, np.newaxis] ^ other).mean() < 31.9


@pytest.mark.slow
def test_look_ups_are_timed_and_projected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("_COMPARED", (1_000, 2_000)), ("_INDEXED", (2_000,)), ("SIZES", (2_000, 200_000, 10**9))):
        monkeypatch.setattr(scale, name, value)
    documents = [{"id": str(number), "text": text} for number, text in enumerate(REAL)]
    folder = write_set(tmp_path / "set", documents, [{"a": "0", "b": "1", "label": 0}])
    figures = scale.run(data=folder, n=2_000, copies=50)
    assert set(figures["distances"]) == set(EDITS)
    for name in ("crowded", "random"):
        of_kind = figures[name]
        assert set(of_kind["ns_a_pair"]) == {"1000", "2000"}
        # 500,000 times as many as were drawn say nothing.
        assert set(of_kind["brought"]) == {"2000", "200000"}
        assert of_kind["brought"]["200000"] == 100 * of_kind["brought"]["2000"]
        for edit in EDITS:
            assert 0 <= of_kind["found"][edit]["200000"] <= of_kind["found"][edit]["2000"] <= 1


def test_too_few_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--n and --copies: expected at least 100,000 and 5"):
        scale.run(data=tmp_path, n=10)


def test_a_plan_grows_with_documents_and_with_their_square() -> None:
    figures = scale_plan.run(cores=100, cents=5, document_us=360, visit_us=36, pair_ps=720, chunk=10**5)
    of_size, of_ten_times = figures["documents"][str(10**8)], figures["documents"][str(10**9)]
    assert of_size["core_hours_of_documents"] == pytest.approx(10)
    # Each visits half of 1,000 chunks.
    assert of_size["core_hours_of_pairs"] == pytest.approx(1000 + 500.5, rel=1e-6)
    assert of_size["hours"] == pytest.approx(15.105, rel=1e-6)
    assert of_size["cost"] == pytest.approx(75.525, rel=1e-6)
    assert of_ten_times["core_hours_of_pairs"] == pytest.approx(100_000 + 50_005, rel=1e-6)


def test_a_plan_sends_each_chunk_to_what_reaches_beyond_it() -> None:
    figures = scale_plan.run(cores=1, chunk=10**8, document_bytes=10, stored_bytes=1, asked_bytes=1000)
    # 5 ranges, and a chunk for 1e8 documents: a stored one goes to 3 of them on average, the others to the chunk.
    assert figures["documents"][str(10**8)]["shuffled_terabytes"] == pytest.approx(10**8 * (10 + 3 + 1000) / 1e12)


def test_a_plan_for_no_core_is_refused() -> None:
    with pytest.raises(ValueError, match="--cores: expected 1 or more"):
        scale_plan.run(cores=0)
