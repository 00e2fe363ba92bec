"""The verdicts on files are those of the crawl: the same documents in the same order, each with a key of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dedup.corpus.candidates import candidates
from dedup.corpus.deciding import known as known_documents
from dedup.corpus.deciding.briefs import BRIEF_WORDS, write_briefs
from dedup.corpus.deciding.deciding import CorpusDeduplicator
from dedup.corpus.deciding.kernels import Sketches, worth_checking
from dedup.corpus.deciding.known import KnownDocuments
from dedup.corpus.signing.signing import sign
from dedup.errors import InputError, SettingsError
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.cautions import Caution
from dedup.rules.decision import Decision, Verdict
from dedup.rules.documents import Document
from dedup.rules.rule import Rule
from dedup.rules.settings import DedupSettings
from dedup.rules.thresholds import Thresholds
from dedup.rules.verification import check_sketches
from dedup.signature.extraction import analyse_html
from dedup.signature.signature import digest, make_signature
from dedup.signature.sketch import MINIMA, Sketch, compare
from tests.texts import answered, chinese, chinese_words, document, edited, extended

Content = str | bytes
signed = cache(sign)
signature = cache(make_signature)

EMPTY_PAGES = [b"<html><body></body></html>", b"<html><head></head></html>", b"<p>!!!</p>"]
WORDLESS = ["", " ", "!!! ...", "\0"]


def decide(deduplicator: CorpusDeduplicator, key: str, content: Content) -> Decision:
    return deduplicator.decide_one(signed(key, content, "words"))


def in_memory(contents: Sequence[Content], folder: Path, **values: Any) -> list[Decision]:
    deduplicator = CorpusDeduplicator(DedupSettings(**values), folder)
    decisions = [decide(deduplicator, str(i), content) for i, content in enumerate(contents)]
    deduplicator.close()
    return decisions


def in_database(contents: Sequence[Content], folder: Path, **values: Any) -> list[Decision]:
    settings = DedupSettings(database_url=f"sqlite:///{folder / 'test.db'}", **values)
    deduplicator = Deduplicator(settings)
    decisions = deduplicator.decide(list(map(crawled, range(len(contents)), contents)), deduplicator.open_run("test"))
    deduplicator.database.close()
    return [decision for decision in decisions if decision]


def crawled(number: int, content: Content) -> Document:
    if isinstance(content, str):
        return Document(str(number), signature(content), len(content.encode()))
    text, signature_ = analyse_html(content)
    return Document(str(number), signature_, len(text.encode()), digest(content))


def corpus(seed: object, count: int) -> list[Content]:
    """Return texts of all lengths, of which many are copies or edits of earlier ones."""
    random = Random(f"corpus {seed}")
    made: list[Content] = []
    for number in range(count):
        texts = [content for content in made if isinstance(content, str) and len(content.split(" ")) > 3]
        kind = random.choice(["new", "copy", "edit", "edit", "longer", "shorter", "frame", "form", "wordless", "page"])
        length = random.choice([3, 19, 20, 40, 63, 64, 90, 200, 400])
        if kind == "wordless":
            made.append(random.choice(WORDLESS))
        elif kind == "page":
            made.append(random.choice(EMPTY_PAGES))
        elif kind == "new" or not texts:
            chinese_text = chinese(chinese_words(length, (seed, number)))
            made.append(random.choice([document(length, (seed, number)), chinese_text]))
        else:
            made.append(changed(random.choice(texts), kind, random, (seed, number)))
    return made


def changed(text: str, kind: str, random: Random, seed: object) -> str:
    words = text.split(" ")
    if kind == "copy":
        return random.choice([text, text.upper(), f"  {text}\n"])
    if kind == "edit":
        return edited(text, random.randint(1, max(1, len(words) // 8)), seed)
    if kind == "longer":
        return extended(text, random.randint(1, max(1, len(words) // 4)), seed)
    if kind == "shorter":
        return " ".join(words[: max(1, int(len(words) * random.uniform(0.5, 1)))])
    if kind == "form":
        return answered(text, random.randint(1, max(1, len(words) // 12)), seed)
    return f"{text} {document(random.choice([5, 30, 60]), seed)}"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"caution": "careful"},
        {"caution": "eager"},
        {"mode": "paper"},
        {"max_candidates": 2},
        {"max_compared": 100},
        {"radius": 3},
        {"radius": 2, "weak_bits": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("most_compared", [1_000, 30])
def test_verdicts_are_those_of_the_crawl(
    most_compared: int, values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_COMPARED", most_compared)
    monkeypatch.setattr(candidates, "MOST_COMPARED_EXACTLY", most_compared)
    contents = corpus((most_compared, str(values)), 120)
    found = in_memory(contents, tmp_path, **values)
    assert found == in_database(contents, tmp_path, **values)
    verdicts = {decision.verdict for decision in found}
    assert {Verdict.NEW, Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE} == verdicts - {Verdict.SIMILAR}
    assert values.keys() - {"caution"} or Verdict.SIMILAR in verdicts


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 2)), max_size=12))
@hypothesis_settings(max_examples=25)
def test_chains_of_edits_end_where_those_of_a_crawl_do(steps: list[tuple[int, int, int]]) -> None:
    contents: list[Content] = [document(150, i) for i in range(5)]
    for source, edits, seed in steps:
        contents.append(edited(str(contents[-1 - source]), edits, seed))
    with TemporaryDirectory() as folder:
        assert in_memory(contents, Path(folder)) == in_database(contents, Path(folder))


@pytest.mark.parametrize("most_compared", [1_000, 30])
def test_documents_that_are_all_alike_are_decided_by_the_closest(
    most_compared: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_COMPARED", most_compared)
    monkeypatch.setattr(candidates, "MOST_COMPARED_EXACTLY", most_compared)
    # Far more than max_candidates are near: the narrow look-ups have to bring what a wide one does.
    base = document(60, "base") + " "
    contents: list[Content] = [base * 3 + document(100, i) for i in range(150)]
    contents += [edited(str(content), 4) for content in contents[::7]]
    values = {"max_candidates": 5}
    assert in_memory(contents, tmp_path, **values) == in_database(contents, tmp_path, **values)


def test_a_state_goes_on_where_its_checkpoint_was(tmp_path: Path) -> None:
    contents = corpus("resume", 150)
    whole = in_memory(contents, tmp_path)
    folder = tmp_path / "state"
    folder.mkdir()
    first = CorpusDeduplicator(DedupSettings(), folder)
    decisions = [decide(first, str(i), content) for i, content in enumerate(contents[:70])]
    lengths = first.checkpoint()
    for content in contents[70:90]:
        decide(first, "lost", content)
    first.checkpoint()
    first.close()
    second = CorpusDeduplicator(DedupSettings(), folder, lengths)
    decisions += [decide(second, str(i), contents[i]) for i in range(70, 150)]
    second.close()
    assert decisions == whole
    (folder / "words").write_bytes(b"")
    with pytest.raises(InputError, match="too short"):
        CorpusDeduplicator(DedupSettings(), folder, lengths)


def test_another_table_design_is_refused(tmp_path: Path) -> None:
    from dedup.index.design import TableDesign

    with pytest.raises(SettingsError, match="4 choose 1"):
        CorpusDeduplicator(DedupSettings(tables=TableDesign(3, 1)), tmp_path)


sketches = st.builds(
    lambda seed, share, tokens, shingles: (seed, share, tokens, shingles),
    st.integers(0, 50),
    st.floats(0, 1),
    st.integers(1, 400),
    st.integers(0, 400),
)


def made_sketch(seed: int, share: float, tokens: int, shingles: int) -> Sketch:
    """Return a sketch that has about a share of its minima in common with all others."""
    random = np.random.default_rng(seed)
    own = random.integers(0, 16, MINIMA)
    minima = np.where(random.random(MINIMA) < share, 7, own).astype(np.uint8)
    return Sketch((minima[::2] | minima[1::2] << 4).tobytes(), 0, tokens, shingles)


shares = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])


@given(
    st.lists(sketches, min_size=1, max_size=20),
    sketches,
    st.booleans(),
    st.builds(DedupSettings, caution=st.sampled_from(Caution))
    | st.builds(
        DedupSettings, min_jaccard=shares, min_containment=shares, min_length_ratio=shares, short_tokens=st.just(0)
    ),
)
@pytest.mark.slow
def test_many_sketches_are_compared_as_one_is(
    made: list[tuple[int, float, int, int]], one: Any, are_brief: bool, settings: DedupSettings
) -> None:
    stored, query = [made_sketch(*each) for each in made], made_sketch(*one)
    minima = np.array([struct.unpack("<8Q", sketch.minima) for sketch in stored], np.uint64)
    shingles = np.array([sketch.shingles for sketch in stored], np.uint32)
    tokens = np.array([sketch.tokens for sketch in stored], np.uint32)
    briefs = np.empty((len(stored) if are_brief else 0, BRIEF_WORDS), np.uint64)
    write_briefs(minima, shingles, tokens, briefs)
    found = worth_checking(
        np.arange(len(stored)),
        Sketches(minima, shingles, tokens, briefs),
        np.frombuffer(query.minima, np.uint64),
        query.shingles,
        query.tokens,
        Thresholds.of(settings),
    )
    similarities = [compare(query, sketch) for sketch in stored]
    expected = [
        i
        for i, sketch in enumerate(stored)
        if min(sketch.tokens, query.tokens) < settings.short_tokens
        or check_sketches(similarities[i], settings) is not Rule.NOT_ALIKE
    ]
    assert found.tolist() == sorted(expected, key=lambda i: -similarities[i].jaccard)


@pytest.mark.parametrize("most_brief", [30, 10_000])
def test_a_copy_is_worth_checking_however_many_documents_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_brief: int
) -> None:
    monkeypatch.setattr(known_documents, "FIRST_ROWS", 8)
    monkeypatch.setattr(known_documents, "MOST_BRIEF", most_brief)
    made = DedupSettings()
    needed = Thresholds.of(made)
    sketches_of_all = [made_sketch(number, 0.1, 200, 190) for number in range(60)]

    def require_found(known: KnownDocuments) -> None:
        for number, sketch in enumerate(sketches_of_all[: len(known)]):
            asked = np.frombuffer(sketch.minima, np.uint64), sketch.shingles, sketch.tokens
            assert worth_checking(np.arange(len(known)), known.sketches, *asked, needed).tolist() == [number]

    known = KnownDocuments(tmp_path)
    for number, sketch in enumerate(sketches_of_all):
        known.add(str(number), number.to_bytes(16, "little"), number, sketch, words=b"", leader=None, indexed=True)
        require_found(known)
    lengths = known.checkpoint()
    known.close()
    known = KnownDocuments(tmp_path, lengths)
    require_found(known)
    known.close()
