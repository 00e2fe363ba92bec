"""Byte strings in a file that only grows come back by where they begin, and all in their order."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus import appending
from dedup.corpus.appending import LENGTH_BYTES, AppendingFile


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(4, 60), st.integers(4, 60), st.integers(0, 20))
def test_what_was_appended_is_read(
    tmp_path_factory: pytest.TempPathFactory, strings: list[bytes], waiting: int, at_once: int, together: int
) -> None:
    path = tmp_path_factory.mktemp("appending") / "strings"
    with pytest.MonkeyPatch.context() as patch, closing(AppendingFile(path)) as file:
        patch.setattr(appending, "_WAITING", waiting)
        patch.setattr(appending, "_MOST_AT_ONCE", at_once)
        places = []
        for each in strings[together:]:
            places.append(file.end)
            assert file.append(each) == places[-1]
        expected = strings[together:]
        first = file.end
        file.append_many(b"".join(len(each).to_bytes(LENGTH_BYTES, "little") + each for each in strings[:together]))
        for each in strings[:together]:
            places.append(first)
            first += LENGTH_BYTES + len(each)
        expected += strings[:together]
        assert [file.read(place) for place in places] == expected
        assert list(file.read_many(reversed(places))) == expected[::-1]
        assert list(file.read_all(file.checkpoint())) == list(zip(places, expected, strict=True))
        assert [file.read(place) for place in places] == expected
