"""Finding the files of a corpus, and checking all of them before any work starts."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from glob import glob
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from dedup.console import plain
from dedup.errors import InputError
from dedup.readers.documents import CorpusDocument, CorpusFile, ReadOptions
from dedup.readers.json_arrays import begins_array
from dedup.readers.streams import (
    FileStatus,
    file_name,
    find_remote,
    is_url,
    load_zstd,
    open_raw,
    translate_errors,
)
from dedup.workers.pool import PRELOAD

KNOWN = "JSON, JSONL, CSV, TSV (also .gz, .zst), Parquet, WARC and WET (also .gz), .txt, .html, .pdf"

# A zstd file may begin with a frame to be skipped, as those of pzstd do.
_MAGIC = {"gzip": re.compile(rb"\x1f\x8b"), "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")}
_HEAD = 1 << 12
_HEAD_READ = 64
_CHECKED_AT_ONCE = 16
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

_BATCHES = "dedup.corpus.preloaded"
_MOST_FILES = 8
_MOST_DOCUMENTS = 20
_CHINESE = re.compile("[\u4e00-\u9fff]")


class Format(NamedTuple):
    """A format of input files: another one is a module of this package, a suffix in `FORMATS`, and a word in `KNOWN`.

    What the module has to have is said by `dedup.readers.portions`.

    Attributes:
        module: the module of this package that reads it.
        compressions: the suffixes that may stand behind that of the format.
        is_checked: whether files are checked before any work starts.
    """

    module: str
    compressions: tuple[str, ...] = (".gz", ".zst")
    is_checked: bool = False


_JSONL, _CSV, _PLAIN = Format("jsonl"), Format("csv_tables"), Format("plain")
_PDF = Format("pdf", compressions=(), is_checked=True)
_WARC = Format("warc", compressions=(".gz",), is_checked=True)

# Parquet compresses by itself, and a WARC file by zstd needs a dictionary that it does not always bring.
FORMATS = {
    ".jsonl": _JSONL,
    ".ndjson": _JSONL,
    ".json": _JSONL,
    ".csv": _CSV,
    ".tsv": _CSV,
    ".parquet": Format("parquet", compressions=(), is_checked=True),
    ".warc": _WARC,
    ".wet": _WARC,
    ".txt": _PLAIN,
    ".html": _PLAIN,
    ".htm": _PLAIN,
    ".pdf": _PDF,
}


class FoundFiles(NamedTuple):
    """The files of a corpus in the order in which they are read, and those in folders that are none."""

    files: list[CorpusFile]
    ignored: list[str]


def find_files(inputs: Sequence[str | Path]) -> FoundFiles:
    """Find and check all files that some arguments name.

    Folders are walked in the order of their sorted names, hidden files left out. Documents without a
    key are called by their file: from its folder on if that folder is the only input, by the whole
    path otherwise, as two folders may have files of one name.

    Args:
        inputs: files and folders, or their URLs, or patterns of files.

    Returns:
        The files, and what was found in folders and is of no known format.

    Raises:
        InputError: an input is not there, cannot be opened, is of no known format, or there is none.
    """
    files: list[CorpusFile] = []
    ignored: list[str] = []
    for each in inputs:
        path = os.fspath(each).removeprefix("file://")
        folder, found = find_remote(path) if is_url(path) else _find(path)
        key_start = len(_printable(folder)) if len(inputs) == 1 else 0
        before = len(files)
        for inner, file in zip(found, _check(found, key_start, is_remote=is_url(path)), strict=True):
            if file is None:
                ignored.append(_printable(inner))
            else:
                files.append(file)
        if len(files) == before:
            said = "no file of a known format in this folder" if folder else _why_unknown(path)
            raise InputError(f"{_printable(path)}: {said}; known are {KNOWN}")
    if not files:
        raise InputError(f"nothing to read; name files or folders: {KNOWN}")
    return FoundFiles(files, ignored)


def _why_unknown(path: str) -> str:
    stem, _, suffix = path.lower().rpartition(".")
    if "arc" in (suffix, stem.rpartition(".")[2]):
        return "an ARC file, which warcio recompress IN.arc.gz OUT.warc.gz writes as WARC"
    if ".warc." in path.lower():
        return "a WARC file is read plain and by gzip: unpack it"
    packed = ": name it by what is in it, such as NAME.jsonl.zst" if f".{suffix}" in _COMPRESSIONS else ""
    return f"not a known format by its name{packed}"


def _check(found: Mapping[str, FileStatus | None], key_start: int, *, is_remote: bool) -> Iterator[CorpusFile | None]:
    """Check files one after the other, remote ones some at once, as each answer is waited for."""

    def check(path: str) -> CorpusFile | None:
        with translate_errors(path) if is_remote else nullcontext():
            return check_file(path, _printable(path), key_start, found[path])

    if not is_remote:
        yield from map(check, found)
        return
    with ThreadPoolExecutor(_CHECKED_AT_ONCE) as threads:
        yield from threads.map(check, found)


def _find(path: str) -> tuple[str, Mapping[str, FileStatus | None]]:
    """Find local files as `find_remote` does remote ones."""
    if not os.path.lexists(path) and (matching := sorted(glob(path, recursive=True))):  # noqa: PTH207
        return "", dict.fromkeys(chain.from_iterable(map(_walk, matching)))
    if not stat.S_ISDIR(_status(path).st_mode):
        return "", {path: None}
    return os.path.join(str(Path(path)), ""), dict.fromkeys(_walk(path))  # noqa: PTH118 -- with a slash at its end


def _walk(folder: str) -> Iterator[str]:
    """Yield all files below a folder in the order of their sorted names, without recursion."""
    waiting = [str(Path(folder))]
    while waiting:
        path = waiting.pop()
        # What is a link to a folder could lead round in a circle.
        if not Path(path).is_dir() or (Path(path).is_symlink() and path != str(Path(folder))):
            yield path
            continue
        try:
            names = sorted((name for name in os.listdir(path) if name[0] != "."), reverse=True)  # noqa: PTH208
        except OSError as error:
            raise _unreadable(path, error) from None
        waiting.extend(os.path.join(path, name) for name in names)  # noqa: PTH118 -- a million files


def check_file(path: str, name: str, key_start: int, status: FileStatus | None = None) -> CorpusFile | None:
    """Describe a file, having opened it; None if its name is of no known format.

    Args:
        path: where it is.
        name: what it is called in messages.
        key_start: see `CorpusFile`.
        status: that of a remote file.

    Raises:
        InputError: it cannot be opened, or is not what its name says.
    """
    format_, suffix = _format_of(path)
    if format_ is None:
        return None
    if status is None:
        found = _status(path)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{name}: neither a file nor a folder; write it to a file first")
        status = FileStatus(found.st_size, found.st_mtime_ns)
    try:
        with open_raw(path, ahead=_HEAD) as file:
            head = file.read(_HEAD_READ) or b""
    except OSError as error:
        raise _unreadable(path, error) from None
    compression = next((name for name, magic in _MAGIC.items() if magic.match(head)), "")
    if suffix and head and compression != _COMPRESSIONS[suffix]:
        raise InputError(
            f"{name}: not {_COMPRESSIONS[suffix]} as its name says; take {suffix} off the name if it is not"
        )
    if compression == "zstd":
        load_zstd(name)
    if format_.is_checked:
        import_module(f"dedup.readers.{format_.module}").check(path, name)
    # Others begin with the first line that is read of them.
    is_array = format_ is _JSONL and not compression and begins_array(head)
    return CorpusFile(path, name, key_start, "json_arrays" if is_array else format_.module, compression, *status)


def holds_records(path: str) -> bool:
    """Return whether a file holds records, each of them a document, by its name; others hold one document."""
    return _format_of(path)[0] not in (None, _PLAIN, _PDF)


def require_one_document(name: str) -> None:
    """Refuse a file of records where a text, or a file that is one document, is expected.

    Raises:
        InputError: the name is that of such a file.
    """
    if holds_records(name) and os.path.isfile(name):  # noqa: PTH113 -- whatever else is no name of a file is a text
        shown = plain(name)
        way_out = f"give the text of one as text:..., or compare all: dedup files {shown} -o DIR"
        raise InputError(f"{shown}: holds many documents, one is expected; {way_out}")


def _format_of(path: str) -> tuple[Format | None, str]:
    """Return the format and the suffix of the compression by a file's name; no format if there is none known."""
    stem, suffix = os.path.splitext(file_name(path).lower())  # noqa: PTH122 -- a million files
    if suffix not in _COMPRESSIONS:
        return FORMATS.get(suffix), ""
    format_ = FORMATS.get(os.path.splitext(stem)[1])  # noqa: PTH122
    return (format_, suffix) if format_ is not None and suffix in format_.compressions else (None, "")


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 -- a million files
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"{_printable(path)}: cannot be read ({reason}); check the name and the permissions")


def _printable(path: str) -> str:
    """Return a path as a string that can be stored: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def preloads(files: Sequence[CorpusFile], options: ReadOptions) -> tuple[str, ...]:
    """Return the modules, as far as the beginnings of files tell.

    The parser of pages and the dictionary of Chinese take a fifth of a second to load, in which nothing is
    signed. A document that needs them nevertheless makes its worker load them for itself.

    Args:
        files: those that will be read.
        options: how documents are found in them.
    """
    is_plain = all(_is_plain(file, options) for file in islice(files, _MOST_FILES))
    return (_BATCHES,) if is_plain else (*PRELOAD, _BATCHES)


def _is_plain(file: CorpusFile, options: ReadOptions) -> bool:
    """Return whether a file begins with texts that are not Chinese."""
    if is_url(file.path):
        # Its beginning would be fetched twice.
        return False
    try:
        read = import_module(f"dedup.readers.{file.format}").read
        first = list(islice(read(file, 0, options), _MOST_DOCUMENTS))
    except OSError:  # it was there when all were checked, and whoever reads it will say so
        return False
    texts = [item.text for item in first if isinstance(item, CorpusDocument)]
    return all(text is not None and _CHINESE.search(text) is None for text in texts)
