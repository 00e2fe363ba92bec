"""Bodies that were cut off on their way are told from whole ones, and not stored as such."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from crawler.spider.compression import is_whole
from tests.crawling import crawl_site_here
from tests.localsite import HTML, LocalSite, Reply, article
from tests.texts import document

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def bare(body: bytes) -> bytes:
    return zlib.compress(body)[2:-4]


@given(st.binary(min_size=1), st.sampled_from([*CODINGS.items(), ("deflate", bare)]), st.integers(1, 8))
def test_body_is_whole_to_its_last_byte(
    body: bytes, coding: tuple[str, Callable[[bytes], bytes]], missing: int
) -> None:
    name, compress = coding
    compressed = compress(body)
    assert is_whole(compressed, name.encode())
    assert not is_whole(compressed[: -min(missing, len(compressed) - 1)], name.encode())


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_body_of_several_parts_is_whole_with_the_last(name: str) -> None:
    parts = CODINGS[name](b"one" * 99) + CODINGS[name](b"two" * 99)
    assert is_whole(parts, name.encode())
    assert not is_whole(parts[:-3], name.encode())


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
def test_what_stands_behind_the_end_does_not_count(name: str) -> None:
    assert is_whole(CODINGS[name](b"one") + bytes(64), name.encode())
    assert is_whole(gzip.compress(b"one")[:-8] + b"badsum!!", b"gzip")


@pytest.mark.slow
def test_page_that_was_cut_off_is_named_and_does_not_take_the_place_of_a_whole_one(tmp_path: Path) -> None:
    body = article("story", text=f"{document(300, 'story')} The end")
    headers = {"Content-Type": HTML, "Content-Encoding": "gzip, br"}

    def packed(end: int | None) -> Reply:
        return Reply(brotli.compress(gzip.compress(body.encode()))[:end], headers=headers)

    with LocalSite({"/cut": packed(-60), "/whole": packed(None)}) as site:
        starts = f"{site.url}/cut,{site.url}/whole"
        first = crawl_site_here(tmp_path / "crawl.db", {"CONCURRENT_REQUESTS": 1}, url=starts)
        cut, whole = sorted(first.items, key=lambda item: item.url)
        assert (cut.problem, cut.verdict) == ("only the beginning: it was cut off on its way", None)
        assert (whole.problem, whole.verdict, whole.text.endswith("The end.")) == (None, "new", True)
        assert document(100, "story")[:200] in cut.text
        assert "The end" not in cut.text
        site.pages["/whole"] = packed(-60)
        again = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/whole")
        assert [item.text for item in again.items] == [whole.text]
