"""Files that are there in full or not at all, also after a loss of power."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(new: Path, path: Path) -> None:
    """Give a file its name once all of it is on the disk, in the place of a file that has that name.

    Args:
        new: the file, in the same file system.
        path: its name.
    """
    sync(new)
    new.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
