"""The verdicts on files are those of the crawl: the same documents in the same order, each with a key of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus.pairing import SKETCH, estimate
from dedup.corpus.texts import decide_texts
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document, Verdict
from dedup.rules.matcher import Candidate, Matcher
from dedup.rules.settings import Caution, DedupSettings, RuleSettings
from dedup.rules.table import Rule
from dedup.signature.pages import analyse_page
from dedup.signature.schemes import Scheme, find_scheme
from dedup.signature.signature import MINIMA, Sketch, digest
from dedup.signature.signing import make_signature
from dedup.store.deduplicator import Deduplicator
from tests.deciding import Crawl
from tests.texts import answered, chinese, chinese_words, document, edited, extended

Content = str | bytes
signature = cache(make_signature)

EMPTY_PAGES = [b"<html><body></body></html>", b"<html><head></head></html>", b"<p>!!!</p>"]
WORDLESS = ["", " ", "!!! ...", "\0"]


def in_memory(contents: Sequence[Content], folder: Path, **values: Any) -> list[Decision]:
    return list(
        decide_texts([(str(i), content) for i, content in enumerate(contents)], DedupSettings(**values), folder)
    )


def in_database(contents: Sequence[Content], folder: Path, **values: Any) -> list[Decision]:
    settings = DedupSettings(database_url=f"sqlite:///{folder / 'test.db'}", **values)
    deduplicator = Deduplicator(settings)
    scheme = find_scheme(settings.scheme)
    documents = [crawled(number, content, scheme) for number, content in enumerate(contents)]
    decisions = deduplicator.decide(documents, deduplicator.open_run("test"))
    deduplicator.database.close()
    return [decision for decision in decisions if decision]


def crawled(number: int, content: Content, scheme: Scheme) -> Document:
    if isinstance(content, str):
        return Document(str(number), signature(content, scheme), len(content.encode()))
    text, signature_ = analyse_page(content, scheme)
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
        {"mode": "paper", "radius": 12},
        {"scheme": "pairs"},
        {"tables": "4 choose 1"},
    ],
    ids=str,
)
def test_verdicts_are_those_of_the_crawl(values: dict[str, Any], tmp_path: Path) -> None:
    contents = corpus(str(values), 240)
    found = in_memory(contents, tmp_path, **values)
    assert found == in_database(contents, tmp_path, **values)
    verdicts = {decision.verdict for decision in found}
    assert {Verdict.NEW, Verdict.EXACT_DUPLICATE, Verdict.NEAR_DUPLICATE} == verdicts - {Verdict.SIMILAR}
    assert values.keys() - {"caution"} or Verdict.SIMILAR in verdicts


def test_so_are_those_of_texts_too_long_to_be_compared_word_by_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RuleSettings, "max_compared", 100)
    test_verdicts_are_those_of_the_crawl({}, tmp_path)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 2)), max_size=12))
def test_chains_of_edits_end_where_those_of_a_crawl_do(steps: list[tuple[int, int, int]]) -> None:
    contents: list[Content] = [document(150, i) for i in range(5)]
    for source, edits, seed in steps:
        contents.append(edited(str(contents[-1 - source]), edits, seed))
    with TemporaryDirectory() as folder:
        assert in_memory(contents, Path(folder)) == in_database(contents, Path(folder))


def test_pages_of_one_template_are_decided_as_in_a_crawl(tmp_path: Path) -> None:
    # Far more share a key than are read of it, and more are candidates than are looked at.
    base = document(60, "base") + " "
    contents: list[Content] = [base * 3 + document(60, i) for i in range(150)]
    contents += [edited(str(content), 4) for content in contents[::7]]
    found = in_memory(contents, tmp_path)
    assert found == in_database(contents, tmp_path)
    assert [decision.original for decision in found[150:]] == [str(number) for number in range(0, 150, 7)]


def test_other_signs_beside_the_same_words_are_similar_as_in_a_crawl(tmp_path: Path) -> None:
    contents = [f"{document(100)} {end}" for end in ("C++ at -5", "C# at 5", "C++, at −5", "C# at 5,")]
    decisions = in_memory(contents, tmp_path)
    assert decisions == in_database(contents, tmp_path)
    assert [(each.original, each.rule) for each in decisions] == [
        (None, None),
        ("0", Rule.SIGNS),
        ("0", Rule.JACCARD),
        ("1", Rule.JACCARD),
    ]


def test_pages_with_other_titles_are_no_copies_by_a_few_words_as_in_a_crawl(tmp_path: Path) -> None:
    few, more, other = document(30, "few"), document(300, "more"), document(300, "other")
    shown = [
        *(("a", few, "Red shoes - Shop"), ("a", few, "Blue bags - Shop"), ("a", few, "Red shoes - Shop")),
        *(("b", few, "Green hats - Store"), ("b", more, "News"), ("b", more, "News")),
        *(("b", edited(more, 2), "News"), ("c", edited(few, 1), "Toys - Market"), ("c", few, "Games - Market")),
        # What most pages of a site have is not their own text.
        *(("d", other, f"{name} - Town") for name in ("Parks", "Pools", "Schools", "Roads", "Taxes", "Waste")),
    ]
    pages = [
        (f"http://{host}.example/{number}", f"<title>{title}</title><article><p>{text}</p></article>".encode())
        for number, (host, text, title) in enumerate(shown)
    ]
    found = list(decide_texts(pages, DedupSettings(), tmp_path))
    with closing(Crawl(f"sqlite:///{tmp_path}/crawl.db")) as crawl:
        documents = [crawled_page(key, html, title) for (key, html), (*_, title) in zip(pages, shown, strict=True)]
        decisions = crawl.see_all(documents)
    few_words = (Verdict.SIMILAR, Rule.SAME_SHORT_TEXT)
    assert [(each.verdict, each.rule) for each in found[:9]] == [(each.verdict, each.rule) for each in decisions[:9]]
    assert [number for number, each in enumerate(found[:9]) if (each.verdict, each.rule) == few_words] == [1]
    # A crawl sees that only once it has seen five of them.
    assert [(each.verdict, each.rule) for each in found[10:]] == [few_words] * 5
    assert [(each.verdict, each.rule) for each in decisions[-2:] if each] == [few_words] * 2


def crawled_page(key: str, html: bytes, title: str) -> Document:
    text, signature_ = analyse_page(html, find_scheme("words"))
    return Document(key, signature_, len(text.encode()), digest(html), title=title)


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
    st.builds(DedupSettings, caution=st.sampled_from(Caution))
    | st.builds(DedupSettings, min_jaccard=shares, caution=st.sampled_from(Caution)),
)
@pytest.mark.slow
def test_many_sketches_are_ranked_as_one_is(
    made: list[tuple[int, float, int, int]], one: Any, settings: DedupSettings
) -> None:
    every = [made_sketch(*each) for each in [*made, one]]
    known = np.array([(struct.unpack("<8Q", each.minima), each.shingles, each.tokens) for each in every], SKETCH)
    others = np.arange(len(made))
    similarities, may_be = estimate(np.repeat(known[-1:], len(made)), known[:-1], settings.limits)
    found = sorted((number for number in others.tolist() if may_be[number]), key=lambda each: -similarities[each])
    candidates = [Candidate(number, 0, sketch, shares_band=True) for number, sketch in enumerate(every[:-1])]
    assert found == Matcher(settings).rank(every[-1], candidates)
