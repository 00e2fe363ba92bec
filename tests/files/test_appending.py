"""Byte strings in a file that only grows come back by where they begin, and all in their order."""

from __future__ import annotations

from contextlib import closing
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.files import appending
from dedup.files.appending import AppendingFile, write_all


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
        places += file.append_all(strings[:together]).tolist()
        expected += strings[:together]
        assert [file.read(place) for place in places] == expected
        assert list(file.read_many(reversed(places))) == expected[::-1]
        assert list(file.read_all()) == list(zip(places, expected, strict=True))
        assert [file.read(place) for place in places] == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that is always full is Linux's")
def test_a_full_disk_is_told_with_the_name_of_the_file() -> None:
    with FileIO(Path("/dev/full"), "w") as file, pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_all(file, b"data")
