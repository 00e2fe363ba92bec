"""Files that lie elsewhere: `s3://`, `gs://`, `hf://` and whatever else fsspec has a package for.

They are read by one process, from their beginning to their end, as compressed files are: any other way would
fetch a part of them twice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dedup.corpus.reading.libraries import load_fsspec
from dedup.errors import DedupError, InputError

# What file systems call that which is another one when the content of a file is: digest, generation, time.
_MARKS = ("ETag", "etag", "generation", "blob_id", "LastModified", "last_modified", "modified", "mtime", "updated")
_SHOWN = 200
# Some packages would fetch, and hold, 50 MB at once.
_AHEAD = 1 << 23


class RemoteReadError(DedupError):
    """A file could not be read any more, which may be as it was in a moment: the connection was lost.

    Attributes:
        reason: what is known of it.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url}: cannot be read any more ({reason}); give the same command again")
        self.reason = reason


class FileStatus(NamedTuple):
    """What tells whether a file is the one that it was.

    Attributes:
        size: its bytes.
        changed: when it was changed last, in nanoseconds since 1970; of a remote file what its file system says of
            its content, such as a digest.
    """

    size: int
    changed: int | str


def is_url(path: str) -> bool:
    """Say whether a path is that of a remote file or folder."""
    return "://" in path


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
    fsspec = load_fsspec(url)
    with explained(url):
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
def explained(url: str) -> Iterator[None]:
    """Say of a URL that was given why it cannot be read, and what to do.

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
        reason = error.reason if isinstance(error, RemoteReadError) else _reason(error)
        raise InputError(f"{url}: cannot be read ({reason}); check the name, the credentials and the network") from None


def _reason(error: Exception) -> str:
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
        fsspec = load_fsspec(url)
        with self._told_apart():
            system, path = fsspec.core.url_to_fs(url)
            self._file = system.open(path, "rb", block_size=ahead)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say whether it can be read from anywhere."""
        return bool(self._file.seekable())

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read bytes to a place."""
        with self._told_apart():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; return where that is."""
        with self._told_apart():
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
    def _told_apart(self) -> Iterator[None]:
        """Make of any failure one that no reader takes for damage of the file."""
        try:
            yield
        except Exception as error:  # packages raise whatever they happen to
            raise RemoteReadError(self._url, _reason(error)) from error


def open_raw(path: str, ahead: int = _AHEAD) -> io.RawIOBase:
    """Open a file, wherever it lies, without a buffer; for `ahead` see `RemoteFile`."""
    return RemoteFile(path, ahead) if is_url(path) else io.FileIO(path)
