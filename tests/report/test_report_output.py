"""What a report shows of keys and numbers, and where it goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedup import DedupError
from dedup.atomic_files import open_output
from dedup.console import in_unit, readable

# Keys and numbers


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("/%E6%B8%AF?q=%E5%8f%a3", "/港?q=口"),
        ("/a%2Fb%20c%25", "/a%2Fb%20c%25"),
        ("/latin-%E9", "/latin-%E9"),
        ("/%C2%85", "/%C2%85"),
        ("/a\nb\tc", "/a\ufffdb\ufffdc"),
        ("/\x1b[2J", "/[2J"),
    ],
)
def test_readable_key(key: str, shown: str) -> None:
    assert readable(key) == shown


def test_units_are_chosen_by_size() -> None:
    sizes = (0, 9_999, 10_000, 10_000_000, 10_000_000_000)
    assert list(map(in_unit, sizes)) == ["0 B", "9,999 B", "10 kB", "10 MB", "10 GB"]
    assert in_unit(9_999, 10_000_000) == "0 MB"


# Where it goes


def test_file_is_replaced_only_when_everything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), open_output(str(path)) as stream:
        stream.write(f"new {1 / 0}")
    assert list(tmp_path.iterdir()) == [path]
    with open_output(str(path)) as stream:
        stream.write("港")
        assert path.read_text() == "old"
    assert path.read_bytes() == "港".encode()


def test_file_behind_a_link_is_replaced_and_not_the_link(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    with open_output(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with open_output(str(path)) as stream:
            stream.write("new")
        assert os.read(reader, 10) == b"new"
        assert path.is_fifo()
    finally:
        os.close(reader)


def test_file_that_cannot_be_written_is_an_error_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "report.json"
    with pytest.raises(DedupError, match=r"cannot write .*report\.json: No such file"), open_output(str(path)):
        pass
