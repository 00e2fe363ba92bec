"""Parts give back what was written into them, and documents keep what belongs to them in another order."""

from __future__ import annotations

import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus.parts import (
    DOCUMENT,
    Column,
    Columns,
    Parts,
    RowsFile,
    first_of_text,
    reorder,
    write_part,
)

document = st.tuples(st.text(max_size=9), *[st.binary(max_size=9)] * 3)


def written(folder: Path, parts: list[list[tuple[str, bytes, bytes, bytes]]]) -> Parts:
    with closing(RowsFile(folder)) as file:
        for number, some in enumerate(parts):
            columns = zip(*some, strict=True) if some else ([], [], [], [])
            keys, words, records, texts = map(list, columns)
            rows = np.zeros(len(some), DOCUMENT)
            write_part(folder, number, rows, Columns([key.encode() for key in keys], words, records, texts))
            file.add(rows)
    return Parts(folder)


@given(st.lists(st.lists(document, max_size=5), max_size=5), st.randoms())
def test_documents_are_what_was_written_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, some: list[list[tuple[str, bytes, bytes, bytes]]], chance: object
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    documents = [each for part in some for each in part]
    parts = written(folder, some)
    assert len(parts) == len(documents)
    every = np.arange(len(parts))
    assert b"".join(parts.spans(every, Column.RECORD)) == b"".join(each[2] for each in documents)
    order = np.random.default_rng(len(documents)).permutation(len(documents))
    reorder(folder, order)
    parts = Parts(folder)
    for number, place in enumerate(order.tolist()):
        key, words, record, text = documents[place]
        assert (parts.key(number), parts.words(number)) == (key, words)
        assert (parts.value(number, Column.RECORD), parts.value(number, Column.TEXT)) == (record, text)
    chosen = every[::2]
    assert b"".join(parts.spans(chosen, Column.WORDS)) == b"".join(documents[place][1] for place in order[::2])


def test_words_that_are_deflated_are_given_as_they_were(tmp_path: Path) -> None:
    written(tmp_path, [[("a", zlib.compress(b"some words"), b"", b""), ("b", b"", b"", b"")]])
    rows = np.array(Parts(tmp_path).rows)
    rows["deflated"] = True
    with closing(RowsFile(tmp_path)) as file:
        file.add(rows)
    parts = Parts(tmp_path)
    assert [parts.words(number) for number in (0, 1)] == [b"some words", b""]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_the_first_of_a_text_is_found_for_all_that_have_one(digests: list[tuple[int, int]]) -> None:
    rows = np.zeros(len(digests), DOCUMENT)
    if digests:
        rows["digest"] = digests
    expected = [digests.index(each) if any(each) else place for place, each in enumerate(digests)]
    assert first_of_text(rows).tolist() == expected
