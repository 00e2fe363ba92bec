"""The folder of a saved index: how it comes to be, whole or not at all.

It is the state of a finished run over files (`dedup.corpus.state.checkpoint`) with the checksums of its files.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from dedup.corpus.deciding.cluster_merges import FILE as JOINS
from dedup.corpus.deciding.cluster_merges import join_saved
from dedup.corpus.deciding.known import FILES, ROW, KnownDocuments
from dedup.corpus.state.checkpoint import CHECKPOINT, Checkpoint, about_settings, locked
from dedup.corpus.state.tally import Tally
from dedup.corpus.writing.outputs import sync_folder, write_json
from dedup.errors import IndexFileError, InputError
from dedup.progress import track
from dedup.rules.settings import RuleSettings
from dedup.signature.dictionaries import NO_OTHER_DICTIONARY
from dedup.signature.schemes import scheme_named

FORMAT = 2
"""The version of the folder's format."""

CHECKSUMS = "checksums.json"
"""The file that says of every other one how long it is, and its CRC-32."""

CHECKED = (CHECKPOINT, *FILES)
"""The files that have a checksum."""

_CHUNK = 1 << 24


def settings_of(named: Mapping[str, str]) -> RuleSettings:
    """Return the settings that an index was made with; the opposite of `dedup.corpus.state.checkpoint.about_settings`.

    Raises:
        SettingsError: a value cannot be used, or the scheme is not known.
    """
    values = {f"DEDUP_{name.upper()}": value for name, value in named.items()}
    scheme = scheme_named(named["scheme"], named.get("word_lists", "")).spec
    return RuleSettings.read({**values, "DEDUP_SCHEME": scheme, "DEDUP_DICTIONARY": NO_OTHER_DICTIONARY}.get)


@contextmanager
def new_index(target: Path, settings: RuleSettings, *, force: bool) -> Iterator[KnownDocuments]:
    """Make an index: what is added in the block is saved at its end, all of it or nothing.

    Args:
        target: the folder that it will be.
        settings: how its documents are decided.
        force: whether an index that is there is replaced.

    Yields:
        Where documents are added.

    Raises:
        InputError: the folder is there already, is no index, or another process is making it.
    """
    require_free(target, force=force)
    partial = target.with_name(f".{target.name}.partial")
    partial.mkdir(exist_ok=True)
    with locked(partial):
        try:
            with closing(KnownDocuments(partial)) as known:
                yield known
                lengths = known.checkpoint()
            about = {"settings": about_settings(settings)}
            Checkpoint(about, None, lengths, members=0, outputs={}, tally=Tally(), is_read=True).save(partial)
            complete(partial)
            (partial / "lock").unlink()
        except BaseException:
            shutil.rmtree(partial)
            raise
    put_in_place(partial, target)


def require_free(target: Path, *, force: bool) -> None:
    """Refuse to write an index where something is that must not be lost.

    Raises:
        InputError: it is, or there is no folder to write it to.
    """
    if not target.parent.is_dir():
        raise InputError(f"{target}: its folder is not there; make it first")
    if not target.exists():
        return
    if not (target / CHECKPOINT).is_file():
        raise InputError(f"{target}: is there and is no index; give another name")
    if not force:
        raise InputError(f"{target}: is there already; write elsewhere, or give --force to overwrite it")


def complete(folder: Path) -> None:
    """Make an index of the state of a finished run; to do so once more changes nothing."""
    saved = Checkpoint.load(folder)
    assert saved is not None
    if saved.lengths.joins:
        count = saved.lengths.documents // ROW.itemsize
        changed = np.memmap(folder / FILES[0], ROW, "r+", shape=(count,))
        join_saved(folder, changed, saved.lengths.joins)
        changed.flush()
        replace(saved, lengths=saved.lengths._replace(joins=0)).save(folder)
    (folder / JOINS).unlink(missing_ok=True)
    checksums = {name: checksum(folder / name) for name in CHECKED}
    write_json(folder / CHECKSUMS, {"format": FORMAT, "files": checksums})


def checksum(path: Path) -> list[int]:
    """Return the length of a file and its CRC-32."""
    length = crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            length += len(chunk)
            crc = zlib.crc32(chunk, crc)
    return [length, crc]


def require_sums(folder: Path, names: Sequence[str] = CHECKED) -> None:
    """Refuse an index of which a file is not what its checksum says.

    Whoever takes over all of an index asks first: what is damaged would pass for whole there, or end in the middle.

    Args:
        folder: where it is.
        names: the files that are read.

    Raises:
        IndexFileError: it is damaged.
    """
    for reason in wrong_sums(folder, names):
        raise damaged(folder, reason)


def wrong_sums(folder: Path, names: Sequence[str] = CHECKED) -> Iterator[str]:
    """Yield of which files of an index the length or the checksum is wrong."""
    sums = read_sums(folder)
    for name, sum_ in track(((name, sums[name]) for name in names), "verifying", len(names)):
        found = checksum(folder / name)
        if found[0] != sum_[0]:
            yield f"{name} has {found[0]:,} bytes instead of {sum_[0]:,}"
        if found != sum_:
            yield f"the checksum of {name} is wrong"


def read_sums(folder: Path) -> dict[str, list[int]]:
    """Return length and CRC-32 of each file of an index, by its name.

    Raises:
        InputError: it is an index of another version.
        IndexFileError: they cannot be read.
    """
    try:
        noted = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        if noted["format"] != FORMAT:
            raise InputError(
                f"{folder}: an index of format {noted['format']!r}, and this version reads {FORMAT}; build it anew"
            )
        return {name: noted["files"][name] for name in CHECKED}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"its {CHECKSUMS} cannot be read ({type(error).__name__}: {error})") from None


def damaged(folder: Path, reason: str) -> IndexFileError:
    """Return what is said of a damaged index."""
    return IndexFileError(f"{folder}: damaged index, {reason}: build it again, or take a copy")


def put_in_place(folder: Path, target: Path) -> None:
    """Give a finished index its name; one that has the name is removed once the new one is there."""
    if folder.stat().st_dev != target.parent.stat().st_dev:
        moved = target.with_name(f".{target.name}.partial")
        shutil.rmtree(moved, ignore_errors=True)
        folder = Path(shutil.move(folder, moved))
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    folder.rename(target)
    sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)
