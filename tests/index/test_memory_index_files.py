"""Files of the index in memory: whole or refused, whatever happens to them, and never a crash."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from dedup.errors import DedupError, IndexFileError
from dedup.index.memory import index_file
from dedup.index.memory.index import DESIGN, MemoryIndex
from dedup.index.probes import ProbePlan
from tests.waiting import HANG

pytestmark = pytest.mark.slow

EXACT = ProbePlan(DESIGN, radius=3, exact_radius=3, weak_bits=0)
WIDE = ProbePlan(DESIGN, radius=16, exact_radius=3, weak_bits=3, max_flips=8)
MARGINS = np.arange(64)
COUNT = 2000
FAR = 0xF0F0_1234_5678_9ABC


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 2,000 fingerprints of 2,300 documents, near each other; nobody changes it."""
    path = tmp_path_factory.mktemp("saved") / "saved.idx"
    index = MemoryIndex(EXACT)
    index.add_many(np.arange(COUNT + 300), np.concatenate([values(), values()[:300]]))
    index.save(path)
    return path


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(saved, tmp_path / "copy.idx"))


def values() -> np.ndarray:
    """Return fingerprints, all different; half of them are near each other."""
    spread = np.random.default_rng(7).integers(2**20, 2**64, COUNT, dtype=np.uint64)
    spread[::2] = np.arange(COUNT // 2, dtype=np.uint64) * np.uint64(37)
    return spread


def ask_everything(path: Path) -> list[object]:
    """Open a file and use all of it, in all ways."""
    answers: list[object] = []
    for plan in (EXACT, WIDE):
        index = MemoryIndex.open(path, plan)
        answers.append(len(index))
        answers += [index.query(value, MARGINS, limit=5) for value in values()[:150].tolist()]
        answers.append(index.query_many(np.tile(values()[:300], 14), np.tile(MARGINS, (4200, 1)), limit=3))
        if plan is EXACT:
            # Few of them have a block in common: large ones are not read as a whole then.
            spread = np.random.default_rng(9).integers(0, 2**64, 5000, dtype=np.uint64)
            answers.append(index.query_many(np.concatenate([spread, values()]), limit=3))
        answers.append(index.report())
        index.remove(3, int(values()[3]))
        index.add(10**6, 77)
        index.compact()
        answers.append(index.query(77, MARGINS, limit=5))
    return answers


def test_a_saved_index_is_found_again(saved: Path) -> None:
    index = MemoryIndex.open(saved, EXACT)
    assert len(index) == COUNT + 300
    for i, value in enumerate(values().tolist()):
        exact = [each.document_id for each in index.query(value) if each.distance == 0]
        assert i in exact
        assert (COUNT + i in exact) == (i < 300)
    header = MemoryIndex.verify(saved)
    assert header.design == "4 choose 1"
    assert saved.stat().st_size == header.file_bytes


def test_what_is_added_to_an_opened_index_leaves_the_file_until_it_is_saved(copy: Path) -> None:
    before = copy.read_bytes()
    index, other = MemoryIndex.open(copy, EXACT), MemoryIndex.open(copy, EXACT)
    index.add(10**6, 3 << 40)
    index.remove(5, int(values()[5]))
    assert index.query(3 << 40)[0] == (10**6, 0)
    assert copy.read_bytes() == before
    index.save(copy)
    assert MemoryIndex.open(copy, EXACT).query(3 << 40)[0] == (10**6, 0)
    assert len(MemoryIndex.open(copy, EXACT)) == COUNT + 300
    # Who had opened the old file goes on reading it.
    assert 5 in {each.document_id for each in other.query(int(values()[5]))}
    assert sorted(each.name for each in copy.parent.iterdir()) == ["copy.idx"]


def test_what_was_frozen_is_saved_as_it_was(tmp_path: Path) -> None:
    index = MemoryIndex(EXACT)
    index.add_many(np.arange(COUNT), values())
    index.compact()
    assert index.remove(3, int(values()[3]))
    assert not index.remove(3, int(values()[3]))
    index.add(10**6, FAR)
    frozen = index.freeze()
    index.remove(4, int(values()[4]))
    index.remove(10**6, FAR)
    index.add(10**6 + 1, FAR)
    frozen.save(tmp_path / "frozen.idx", "an origin")
    opened = MemoryIndex.open(tmp_path / "frozen.idx", EXACT)
    assert opened.origin == "an origin"
    assert (len(opened), len(index)) == (COUNT, COUNT - 1)
    assert opened.query(FAR) == [(10**6, 0)]
    assert index.query(FAR) == [(10**6 + 1, 0)]
    for document, there, still in ((3, False, False), (4, True, False), (5, True, True)):
        for each, expected in ((opened, there), (index, still)):
            assert (document in {one.document_id for one in each.query(int(values()[document]))}) == expected


@pytest.mark.parametrize("ids", [[], [0], [2**63 - 1], [0, 2**63 - 1]], ids=str)
def test_small_indexes_and_large_ids_are_saved(tmp_path: Path, ids: list[int]) -> None:
    index = MemoryIndex(EXACT)
    index.add_many(ids, np.array([42] * len(ids), np.uint64))
    index.save(tmp_path / "small.idx")
    MemoryIndex.verify(tmp_path / "small.idx")
    opened = MemoryIndex.open(tmp_path / "small.idx", EXACT)
    assert [each.document_id for each in opened.query(43)] == ids


def test_several_processes_read_one_file(saved: Path) -> None:
    code = f"""
from dedup.index.memory.index import MemoryIndex
from tests.index.test_memory_index_files import EXACT, values
index = MemoryIndex.open({str(saved)!r}, EXACT)
print(sum(len(index.query(value)) for value in values().tolist()))
"""
    readers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = {reader.communicate(timeout=HANG)[0] for reader in readers}
    index = MemoryIndex.open(saved, EXACT)
    assert outputs == {f"{sum(len(index.query(value)) for value in values().tolist())}\n"}


def assert_refused(path: Path) -> None:
    with pytest.raises(IndexFileError) as error:
        MemoryIndex.open(path, EXACT)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert isinstance(error.value, DedupError)


def test_a_truncated_file_is_refused(copy: Path) -> None:
    whole = copy.read_bytes()
    ends = [offset + extra for offset, _ in index_file.read(copy)[0].places.values() for extra in (-1, 0, 1, 100)]
    for length in {0, 1, 7, 8, 20, 100, 4095, 4096, *ends, len(whole) - 1, len(whole) - 4096}:
        copy.write_bytes(whole[:length])
        assert_refused(copy)
    copy.write_bytes(whole + b"\0")
    assert_refused(copy)


def test_a_flipped_bit_in_the_header_is_refused(copy: Path) -> None:
    whole = copy.read_bytes()
    used = len(whole[:4096].rstrip(b"\0"))
    generator = random.Random(1)
    for place in {*range(20), *(generator.randrange(used) for _ in range(100))}:
        copy.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << generator.randrange(8)]) + whole[place + 1 :])
        assert_refused(copy)


def test_a_header_that_agrees_with_its_checksum_but_not_with_sense_is_refused(copy: Path) -> None:
    whole = copy.read_bytes()
    size = struct.unpack_from("<8sIII", whole)[2]
    text = whole[20 : 20 + size]
    for old, new in [
        (b'"fingerprints": 2000', b'"fingerprints": -1'),
        (b'"fingerprints": 2000', b'"fingerprints": 99999999999'),
        (b'"fingerprints": 2000', b'"fingerprints": 2e3'),
        (b'"owner_bytes": 4', b'"owner_bytes": 7'),
        (b'"owner_bytes": 4', b'"owner_bytes": [4]'),
        (b'"deeper": 0', b'"deeper": 60'),
        (b'"deeper": 0', b'"deeper": true'),
        (b'"groups": 300', b'"groups": 301000'),
        (b'"tags"', b'"togs"'),
        (b'"scheme": ', b'"schema": '),
        (text, b"[1]"),
        (text, b"nothing"),
        (text, b"[" * 2000),
        (text, b""),
    ]:
        assert old in text
        changed = text.replace(old, new)
        start = struct.pack("<8sIII", index_file.MAGIC, index_file.FORMAT_VERSION, len(changed), zlib.crc32(changed))
        copy.write_bytes((start + changed).ljust(4096, b"\0") + whole[4096:])
        assert_refused(copy)


def test_files_from_elsewhere_are_refused(tmp_path: Path) -> None:
    for content in (b"", b"SQLite format 3\0" * 1000, b"\x80\x04\x95", b"\x93NUMPY", random.Random(1).randbytes(9000)):
        (tmp_path / "other").write_bytes(content)
        assert_refused(tmp_path / "other")
    assert_refused(tmp_path / "missing")
    assert_refused(tmp_path)


def test_another_format_scheme_or_version_is_refused_in_words(copy: Path) -> None:
    with pytest.raises(IndexFileError, match=r"made with scheme '1:words.*' instead of 'other'"):
        MemoryIndex.open(copy, EXACT, "other")
    whole = bytearray(copy.read_bytes())
    whole[8] = 9
    copy.write_bytes(whole)
    with pytest.raises(IndexFileError, match="index format 9, and this version reads 1"):
        MemoryIndex.open(copy, EXACT)


def test_damaged_data_is_found_by_verify_and_crashes_nothing(saved: Path, tmp_path: Path) -> None:
    """In a process of its own: what is tested is that it does not crash."""
    code = """
import random, sys
from pathlib import Path
import numpy as np
import pytest
from dedup.errors import IndexFileError
from dedup.index.memory import index_file
from dedup.index.memory.index import MemoryIndex
from tests.index.test_memory_index_files import EXACT, ask_everything
saved, path = map(Path, sys.argv[1:])
generator = random.Random(3)
index = MemoryIndex(EXACT)
index.add_many(np.arange(9000), np.random.default_rng(5).integers(0, 2**64, 9000, dtype=np.uint64))
large = path.with_name("large.idx")
index.save(large)
for name in ("first_directory", "directories", "tags", "positions"):
    offset, length = index_file.read(large)[0].places[name]
    for damage in (b"\\xff" * length, generator.randbytes(length)):
        damaged = bytearray(large.read_bytes())
        damaged[offset : offset + length] = damage
        path.write_bytes(damaged)
        ask_everything(path)
whole = saved.read_bytes()
places = index_file.read(saved)[0].places
ask_everything(saved)
for name, (offset, length) in places.items():
    for kind in range(4):
        damaged = bytearray(whole)
        if kind == 0:
            damaged[offset : offset + length] = b"\\xff" * length
        elif kind == 1:
            damaged[offset : offset + length] = generator.randbytes(length)
        elif kind == 2:
            damaged[offset : offset + length] = bytes(length)
        else:
            for _ in range(50):
                damaged[offset + generator.randrange(length)] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        if damaged != whole:
            with pytest.raises(IndexFileError, match=f"its {name.replace('_', ' ')} are damaged"):
                MemoryIndex.verify(path)
        ask_everything(path)
print("survived")
"""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, str(saved), str(tmp_path / "damaged.idx")],
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr[-3000:]


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = copy.read_bytes()
    index = MemoryIndex.open(copy, EXACT)
    index.add(10**6, 5)

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        index.save(copy)
    assert copy.read_bytes() == before
    assert [each.name for each in copy.parent.iterdir()] == ["copy.idx"]
