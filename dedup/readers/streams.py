"""The bytes of files, wherever they lie: remote ones by fsspec, decompressed where they are compressed.

Remote files are read by one process, from their beginning to their end, as compressed files are: any other way would
fetch a part of them twice. The libraries that only some formats need are loaded when such a file is met.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from dedup.errors import DedupError, InputError

if TYPE_CHECKING:
    from dedup.readers.documents import CorpusFile

# What file systems call that which is another one when the content of a file is: digest, generation, time.
_MARKS = ("ETag", "etag", "generation", "blob_id", "LastModified", "last_modified", "modified", "mtime", "updated")
_SHOWN = 200
# Some packages would fetch, and hold, 50 MB at once.
_AHEAD = 1 << 23

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BUFFER = 1 << 20
_SMALL_BUFFER = 1 << 16
_DISCARDED = 1 << 20
MANY_BLANK = 1_000
"""After so many blank lines, those that follow are skipped at once: a small file may unpack to gigabytes of them."""

# Those of zstd --long=31: up to 2 GB, of which as much is taken as the file fills.
_LARGEST_WINDOW = 31

# What a decompressor or a disk has to say of damage; pyarrow's errors are OSError.
DAMAGE = (OSError, EOFError, zlib.error)


def load_pyarrow(name: str) -> Any:
    """Load pyarrow with its module for Parquet; half a second where nothing else has loaded it.

    Args:
        name: the file that needs it, for the message.

    Raises:
        InputError: it is not installed.
    """
    return load_optional("pyarrow", "pyarrow.parquet", name)


def parquet_damage(arrow: Any) -> tuple[type[Exception], ...]:
    """Return what pyarrow raises for a damaged file: not only its own errors.

    Names of columns may be no text, and a size that was flipped may ask for all memory there is.
    """
    return (arrow.ArrowException, OSError, ValueError, LookupError, RuntimeError, MemoryError, OverflowError)


def load_zstd(name: str) -> Any:
    """Load what decompresses zstd, which is a part of Python from 3.14 on.

    Args:
        name: what needs it, for the message.

    Raises:
        InputError: it is not installed.
    """
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return load_optional(module, module, name)


def load_optional(package: str, module: str, name: str, *, extra: str = "corpus") -> Any:
    """Load a package with one of its modules.

    Args:
        package: the package.
        module: the module.
        name: what needs it, for the message.
        extra: that of this library that installs it.

    Raises:
        InputError: it is not installed.
    """
    try:
        import_module(module)
        return import_module(package)
    except ModuleNotFoundError:
        raise InputError(f"{name}: needs the package {package}; pip install 'scrapy-neardup[{extra}]'") from None


class RemoteReadError(DedupError):
    """A file could not be read any more, which may be as it was in a moment: the connection was lost.

    Attributes:
        reason: what is known of it.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url}: cannot be read any more ({reason}); give the same command again")
        self.reason = reason


class FileStatus(NamedTuple):
    """Size and version of a file, by which a changed file is noticed.

    Attributes:
        size: its bytes.
        changed: when it was changed last, in nanoseconds since 1970; of a remote file what its file system says of
            its content, such as a digest.
    """

    size: int
    changed: int | str


def is_url(path: str) -> bool:
    """Return whether a path is that of a remote file or folder."""
    return "://" in path


def file_name(path: str) -> str:
    """Return what tells the format of a file: its path, of a page of the web without the query and fragment behind it.

    In other stores a question mark is a letter of a name like any other.

    >>> file_name("https://example.com/news.jsonl?token=ab")
    'https://example.com/news.jsonl'
    """
    return path.partition("#")[0].partition("?")[0] if path.startswith(("http://", "https://")) else path


def find_remote(url: str) -> tuple[str, dict[str, FileStatus]]:
    """Find the files that a URL names, in the order in which local files of these names are read.

    Args:
        url: a file or a folder; with `*` for any letters of a name, files.

    Returns:
        The folder's URL with a slash at its end, "" if it is none, and the files by their URLs. Those in folders of
        which the name begins with a dot are left out, as the files are that have such a name.

    Raises:
        InputError: it cannot be read, or a package is missing.
    """
    fsspec = load_optional("fsspec", "fsspec.core", url, extra="remote")
    with translate_errors(url):
        system, path = fsspec.core.url_to_fs(url)
        system.invalidate_cache()
        info = None if "*" in path else system.info(path)
        is_folder = info is not None and info["type"] == "directory"
        if info is None:
            named = system.glob(path, detail=True)
            found = {name: each for name, each in named.items() if each["type"] == "file"}
            root = path.partition("*")[0].rpartition("/")[0]
        else:
            found = system.find(path, detail=True) if is_folder else {path: info}
            root = path.rstrip("/")
        if not found:
            raise FileNotFoundError
        names = sorted((name for name in found if _is_shown(name[len(root) :])), key=lambda name: name.split("/"))
        files = {system.unstrip_protocol(name): _status(found[name]) for name in names}
        return f"{system.unstrip_protocol(root)}/" if is_folder else "", files


def _is_shown(name: str) -> bool:
    return not name.endswith("/") and not any(part.startswith(".") for part in name.split("/"))


def _status(info: dict[str, Any]) -> FileStatus:
    if info["size"] is None:
        raise OSError("its server does not say how large it is")
    return FileStatus(info["size"], str([info.get(name) for name in _MARKS]))


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn what reading a URL raises into a line that says why it cannot be read, and what to do.

    Raises:
        InputError: it cannot.
    """
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{url}: not there; check the name") from None
    except ImportError as error:
        package = getattr(error.__cause__, "name", None)
        raise InputError(
            f"{url}: " + (f"needs the package {package}; pip install {package}" if package else str(error))
        ) from None
    except Exception as error:  # packages raise whatever they happen to
        reason = error.reason if isinstance(error, RemoteReadError) else first_line(error)
        raise InputError(f"{url}: cannot be read ({reason}); check the name, the credentials and the network") from None


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line that is not long; its class where it says nothing."""
    said = str(error).splitlines()
    return said[0][:_SHOWN] if said and said[0] else type(error).__name__


class RemoteFile(io.RawIOBase):
    """The bytes of a remote file.

    Args:
        url: where it is.
        ahead: how many bytes are fetched beyond those that are asked for.

    Attributes:
        taken: how many bytes were read.

    Raises:
        RemoteReadError: it cannot be read, now or at any later call.
    """

    def __init__(self, url: str, ahead: int = _AHEAD) -> None:
        self._url = url
        self.taken = 0
        fsspec = load_optional("fsspec", "fsspec.core", url, extra="remote")
        with self._as_file_error():
            system, path = fsspec.core.url_to_fs(url)
            self._file = system.open(path, "rb", block_size=ahead)

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether it can be read from anywhere."""
        return bool(self._file.seekable())

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read bytes to a place."""
        with self._as_file_error():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; return where that is."""
        with self._as_file_error():
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return where it is read next."""
        return int(self._file.tell())

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            self._file.close()
        super().close()

    @contextmanager
    def _as_file_error(self) -> Iterator[None]:
        """Make of any failure one that no reader takes for damage of the file."""
        try:
            yield
        except Exception as error:  # packages raise whatever they happen to
            raise RemoteReadError(self._url, first_line(error)) from error


def open_raw(path: str, ahead: int = _AHEAD) -> io.RawIOBase:
    """Open a file, wherever it lies, without a buffer; for `ahead` see `RemoteFile`."""
    return RemoteFile(path, ahead) if is_url(path) else io.FileIO(path)


class TooLongError(Exception):
    """A line has more bytes than the limit; the stream stands behind it."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Stream:
    """The bytes of a file, decompressed; knows how many bytes of the file itself were taken for them.

    Args:
        file: what to open.
        offset: where to begin, in a file that is not compressed.

    Raises:
        OSError: the file cannot be opened any more.
    """

    def __init__(self, file: CorpusFile, offset: int = 0) -> None:
        self._stack = ExitStack()
        self._file = RemoteFile(file.path) if is_url(file.path) else _CountedFile(file.path)
        raw = self._buffered(self._file)
        self._is_compressed = bool(file.compression)
        # Asking the file itself where it is takes longer than reading a line.
        self._offset = offset
        self.bytes: io.BufferedReader[Any] = raw
        if file.compression == "gzip":
            self.bytes = self._buffered(_Decompressed(gzip.GzipFile(fileobj=raw, mode="rb")))
        elif file.compression == "zstd":
            # What a read has decompressed before it comes upon damage is lost: so reads are small.
            self.bytes = self._buffered(ZstdReader(raw, load_zstd(file.name)), _SMALL_BUFFER)
        elif offset:
            raw.seek(offset)

    def tell(self) -> int:
        """Return how many bytes of the file were taken for the lines that were read; about, if it is compressed."""
        return self._file.taken if self._is_compressed else self._offset

    def read_some(self, size: int) -> bytes:
        """Read some bytes, at most so many; b"" at the end of the file."""
        data = self.bytes.read1(size)
        self._offset += len(data)
        return data

    def read_line(self, limit: int) -> bytes:
        """Read a line, with its end; b"" at the end of the file.

        Args:
            limit: how many bytes at most a line may have, with its end.

        Raises:
            TooLongError: it has more; they are read but not kept.
            OSError, EOFError, zlib.error: the file is damaged; see `DAMAGE`.
        """
        line = self.bytes.readline(limit + 1)
        self._offset += len(line)
        if len(line) > limit:
            raise TooLongError(len(line) + self._discard_line(line))
        return line

    def skip_blank(self, space: bytes) -> int:
        """Skip the lines that come next and hold nothing but white space; return how many.

        It takes as long as reading a megabyte, and more only for what it skips: see `MANY_BLANK`.

        Args:
            space: what counts as white space, the line feed among it.

        Raises:
            OSError, EOFError, zlib.error: the file is damaged; see `DAMAGE`.
        """
        lines = 0
        while ahead := self.bytes.peek():
            blank = ahead[: len(ahead) - len(ahead.lstrip(space))]
            end = blank.rfind(b"\n") + 1
            if not end:
                break
            self._offset += len(self.bytes.read(end))
            lines += blank.count(b"\n")
        return lines

    def _discard_line(self, line: bytes) -> int:
        size = 0
        while line and not line.endswith(b"\n"):
            line = self.bytes.readline(_DISCARDED)
            size += len(line)
        self._offset += size
        return size

    def _buffered(self, stream: Any, size: int = _BUFFER) -> io.BufferedReader[Any]:
        return self._stack.enter_context(io.BufferedReader(stream, size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class _CountedFile(io.FileIO):
    """A file that knows how many bytes were read from it."""

    taken = 0

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        size = super().readinto(buffer)
        self.taken += size or 0
        return size


class _Decompressed(io.RawIOBase):
    """A compressed file without its own buffer, whose readline is slow and whose read loses what came before damage."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class ZstdReader(_Decompressed):
    """A zstd file of any number of frames, with windows as large as there are."""

    def __init__(self, raw: Any, zstd: Any) -> None:
        largest = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
        super().__init__(zstd.ZstdFile(raw, options=largest))
        self._error = zstd.ZstdError

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Decompress as much as fits.

        Raises:
            OSError, EOFError: the file is damaged.
        """
        try:
            return super().readinto(buffer)
        except self._error as error:
            raise OSError(str(error)) from None


def why_damaged(error: BaseException) -> str:
    """Return in a few words why the rest of a file cannot be read."""
    return f"the rest of the file cannot be read: {first_line(error)}"
