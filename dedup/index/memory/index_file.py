"""An index in a file: written whole or not at all, read where it lies.

A header of one page, then the arrays of a segment, each from a multiple of 4,096 bytes on, in the
order of the processor (little-endian on all that are supported). The header is checked when the file
is opened, together with the file's length; `verify` reads the data as well. No number in the data
is trusted by the kernels, so that a damaged file brings wrong finds at worst.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dedup.errors import IndexFileError
from dedup.index.memory.segment import (
    BLOCK_VALUES,
    BLOCKS,
    MAX_FINGERPRINTS,
    TAGS_A_LINE,
    Segment,
)

MAGIC = b"dedupidx"
FORMAT_VERSION = 1

_PAGE = 4096
_START = struct.Struct("<8sIII")
_CHUNK = 1 << 24
_STALE_SECONDS = 3600.0
_MAX_ID = (1 << 63) - 1
_MAX_DEEPER = 8


class Header(NamedTuple):
    """What a file says of itself.

    Attributes:
        scheme: name and version of the way the fingerprints were made.
        design: the table design.
        fingerprints: how many there are.
        lowest: the smallest document id.
        highest: the largest one.
        groups: how many fingerprints are those of several documents.
        members: how many documents these have.
        owner_bytes: the width of an owner, 4 or 8.
        deeper: how many bits beyond the block the directories tell apart; 0 in all that are written today.
        deeper_first: the same of the first directory.
        checksums: CRC-32 of each array.
        origin: what the fingerprints were taken from, up to where, if whoever saved them says.
    """

    scheme: str
    design: str
    fingerprints: int
    lowest: int
    highest: int
    groups: int
    members: int
    owner_bytes: int
    deeper: int
    deeper_first: int
    checksums: dict[str, int]
    origin: str = ""

    @property
    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of each array."""
        count = self.fingerprints
        return {
            "fingerprints": ("<u8", (count,)),
            "owners": (f"<i{self.owner_bytes}", (count,)),
            "starts": ("<i8", (self.groups + 1,)),
            "members": ("<i8", (self.members,)),
            "first_directory": ("<u4", ((BLOCK_VALUES << self.deeper_first) + 1,)),
            "directories": ("<u4", (BLOCKS - 1, (BLOCK_VALUES << self.deeper) + 1)),
            "tags": ("<u2", (BLOCKS - 1, -(-count // TAGS_A_LINE) * TAGS_A_LINE)),
            "positions": ("<u4", (BLOCKS - 1, count)),
        }

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Offset and length of each array, in bytes."""
        places, offset = {}, _PAGE
        for name, (kind, shape) in self.shapes.items():
            length = int(np.dtype(kind).itemsize * np.prod(shape, dtype=np.int64))
            places[name] = offset, length
            offset += -(-length // _PAGE) * _PAGE
        return places

    @property
    def file_bytes(self) -> int:
        """The length of the file."""
        offset, length = list(self.places.values())[-1]
        return offset + -(-length // _PAGE) * _PAGE


def write(path: Path, segment: Segment, scheme: str, design: str, origin: str = "") -> None:
    """Write a segment from which nothing was removed.

    Until all is on the disk, the file that was there stays.

    Raises:
        OSError: the file cannot be written.
    """
    path = path.resolve()
    _clear_away(path)
    arrays = {
        "fingerprints": segment.fingerprints,
        "owners": segment.owners,
        "starts": segment.starts,
        "members": segment.members,
        "first_directory": segment.directories[0],
        "directories": segment.directories[1:],
        "tags": segment.tags,
        "positions": segment.positions,
    }
    header = Header(
        scheme,
        design,
        len(segment),
        segment.lowest,
        segment.highest,
        len(segment.starts) - 1,
        len(segment.members),
        segment.owners.itemsize,
        0,
        0,
        {},
        origin,
    )
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".partial", delete=False) as file:
        try:
            for name, (offset, _) in header.places.items():
                file.seek(offset)
                header.checksums[name] = 0
                for chunk in _chunks(arrays[name]):
                    header.checksums[name] = zlib.crc32(chunk, header.checksums[name])
                    file.write(chunk)
            file.truncate(header.file_bytes)
            file.seek(0)
            file.write(_encoded(header))
            file.flush()
            os.fsync(file.fileno())
            # A file of its own would be readable by others; temporary ones are not.
            mask = os.umask(0)
            os.umask(mask)
            Path(file.name).chmod(0o666 & ~mask)
            Path(file.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(file.name).unlink()
            raise
    _sync_folder(path.parent)


def read(path: Path) -> tuple[Header, Segment]:
    """Open a file; its arrays are read when they are needed.

    Raises:
        IndexFileError: it is not a whole file of this format.
    """
    arrays: dict[str, NDArray[Any]] = {}
    # All of one opened file: another process may put a new one in its place at any time.
    with _opened(path) as file:
        header = _read_header(path, file)
        for name, (kind, shape) in header.shapes.items():
            if 0 in shape:
                arrays[name] = np.empty(shape, kind)
            else:
                # Not as np.memmap: arrays of this class are slower to take parts of.
                arrays[name] = np.memmap(file, kind, "r", header.places[name][0], shape).view(np.ndarray)
    first, others = arrays.pop("first_directory"), arrays.pop("directories")
    directories = np.vstack((first[:: 1 << header.deeper_first], others[:, :: 1 << header.deeper]))
    return header, Segment(lowest=header.lowest, highest=header.highest, directories=directories, **arrays)


def verify(path: Path) -> Header:
    """Read the whole file and compare it with its checksums.

    Raises:
        IndexFileError: something is damaged.
    """
    with _opened(path) as file:
        header = _read_header(path, file)
        for name, (offset, length) in header.places.items():
            file.seek(offset)
            checksum, left = 0, length
            while left > 0:
                chunk = file.read(min(left, _CHUNK))
                if not chunk:
                    _refuse(path, "it is cut off")
                checksum = zlib.crc32(chunk, checksum)
                left -= len(chunk)
            if checksum != header.checksums[name]:
                _refuse(path, f"its {name.replace('_', ' ')} are damaged")
    return header


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise IndexFileError(f"{path}: {error.strerror or error}: give a file that can be read") from error


def _read_header(path: Path, file: BinaryIO) -> Header:
    page = file.read(_PAGE)
    length = file.seek(0, os.SEEK_END)
    if page[: len(MAGIC)] != MAGIC:
        raise IndexFileError(f"{path}: not an index file: give one that this library saved")
    if len(page) < _PAGE:
        _refuse(path, "its header is cut off")
    _, version, size, checksum = _START.unpack_from(page)
    if version != FORMAT_VERSION:
        raise IndexFileError(
            f"{path}: index format {version}, and this version reads {FORMAT_VERSION}: build the index again"
        )
    text = page[_START.size : _START.size + size]
    if len(text) != size or zlib.crc32(text) != checksum:
        _refuse(path, "its header is damaged")
    header = _decoded(path, text)
    if length != header.file_bytes:
        _refuse(path, f"it has {length:,} bytes instead of {header.file_bytes:,}")
    return header


def _refuse(path: Path, reason: str) -> NoReturn:
    raise IndexFileError(f"{path}: damaged index file, {reason}: build the index again, or take a copy")


def _chunks(array: NDArray[Any]) -> list[memoryview]:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]


def _encoded(header: Header) -> bytes:
    text = json.dumps(header._asdict()).encode()
    if len(text) > _PAGE - _START.size:
        raise ValueError(f"a scheme with a name of {len(header.scheme):,} characters: the header has no room for it")
    return _START.pack(MAGIC, FORMAT_VERSION, len(text), zlib.crc32(text)) + text


def _decoded(path: Path, text: bytes) -> Header:
    try:
        header = Header(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        _refuse(path, "its header is damaged")
    limits = {
        "fingerprints": MAX_FINGERPRINTS,
        "groups": MAX_FINGERPRINTS,
        "members": 1 << 40,
        "lowest": _MAX_ID,
        "highest": _MAX_ID,
        "deeper": _MAX_DEEPER,
        "deeper_first": _MAX_DEEPER,
    }
    whole = all(
        type(getattr(header, name)) is int and 0 <= getattr(header, name) <= most for name, most in limits.items()
    )
    texts = all(isinstance(each, str) for each in (header.scheme, header.design, header.origin))
    if not whole or not texts or header.owner_bytes not in (4, 8) or not isinstance(header.checksums, dict):
        _refuse(path, "its header is damaged")
    if header.checksums.keys() != header.shapes.keys():
        _refuse(path, "its header is damaged")
    return header


def _sync_folder(folder: Path) -> None:
    # Not every system can open a folder; those that cannot need no such call.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _clear_away(path: Path) -> None:
    """Remove what killed processes have left behind; not what another one may still be writing."""
    for partial in path.parent.glob(f".{escape(path.name)}.*.partial"):
        with suppress(OSError):
            if time.time() - partial.stat().st_mtime > _STALE_SECONDS:
                partial.unlink()
