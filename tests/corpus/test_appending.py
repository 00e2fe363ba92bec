"""Byte strings in a file that only grows come back by where they begin, and all in their order."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.corpus import appending
from dedup.corpus.appending import LENGTH_BYTES, AppendingFile, write_all, write_pieces


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(4, 60), st.integers(4, 60), st.integers(0, 20))
def test_what_was_appended_is_read(
    tmp_path_factory: pytest.TempPathFactory, strings: list[bytes], waiting: int, at_once: int, together: int
) -> None:
    path = tmp_path_factory.mktemp("appending") / "strings"
    with pytest.MonkeyPatch.context() as patch, closing(AppendingFile(path)) as file:
        patch.setattr(appending, "WAITING", waiting)
        patch.setattr(appending, "MOST_AT_ONCE", at_once)
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


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 30), st.integers(1, 5))
def test_pieces_are_written_one_behind_the_other(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], most: int, at_once: int
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "file"

    def taken_in_part(descriptor: int, some: list[memoryview]) -> int:
        return os.write(descriptor, b"".join(some)[:most])

    with pytest.MonkeyPatch.context() as patch, FileIO(path, "w") as file:
        patch.setattr(appending, "MOST_PIECES", at_once)
        patch.setattr(os, "writev", taken_in_part)
        write_pieces(file, [memoryview(piece) for piece in pieces])
    assert path.read_bytes() == b"".join(pieces)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that is always full is Linux's")
@pytest.mark.parametrize("write", [write_all, lambda file, data: write_pieces(file, [memoryview(data)])])
def test_a_full_disk_is_told_with_the_name_of_the_file(write: Callable[[FileIO, bytes], None]) -> None:
    with FileIO(Path("/dev/full"), "w") as file, pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write(file, b"data")
