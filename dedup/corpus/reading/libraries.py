"""The libraries that only some formats need: loaded when such a file is met."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from dedup.errors import InputError


def load_pyarrow(name: str) -> Any:
    """Load pyarrow with its module for Parquet; half a second where nothing else has loaded it.

    Args:
        name: the file that needs it, for the message.

    Raises:
        InputError: it is not installed.
    """
    return _load("pyarrow", "pyarrow.parquet", name)


def parquet_damage(arrow: Any) -> tuple[type[Exception], ...]:
    """Return what pyarrow raises for a damaged file: not only its own errors.

    Names of columns may be no text, and a size that was flipped may ask for all memory there is.
    """
    return (arrow.ArrowException, OSError, ValueError, LookupError, RuntimeError, MemoryError, OverflowError)


def load_warcio(name: str) -> Any:
    """Load warcio with its module for records.

    Args:
        name: the file that needs it, for the message.

    Raises:
        InputError: it is not installed.
    """
    # It warns of spaces in addresses, with the address as it came from the file.
    logging.getLogger("warcio").setLevel(logging.CRITICAL)
    return _load("warcio", "warcio.recordloader", name)


def load_fsspec(name: str) -> Any:
    """Load fsspec.

    Args:
        name: the URL that needs it, for the message.

    Raises:
        InputError: it is not installed.
    """
    return _load("fsspec", "fsspec.core", name, extra="remote")


def _load(package: str, module: str, name: str, *, extra: str = "corpus") -> Any:
    try:
        import_module(module)
        return import_module(package)
    except ModuleNotFoundError:
        raise InputError(f"{name}: needs the package {package}; pip install 'scrapy-neardup[{extra}]'") from None
