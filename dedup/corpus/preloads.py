"""Which modules the worker processes of a corpus shall share."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from dedup.corpus.files import CorpusFile
from dedup.workers import PRELOAD

_LINES = "dedup.corpus.preloaded"
_FIRST_BYTES = 1 << 16
_MOST_FILES = 8
# In UTF-8, or escaped: U+4E00 to U+9FFF, and some others.
_CHINESE = re.compile(rb"[\xe4-\xe9]|\\u[4-9]")


def preloads(files: Sequence[CorpusFile], html_field: str) -> tuple[str, ...]:
    """Return the modules, as far as the beginnings of files tell.

    The parser of pages and the dictionary of Chinese take a fifth of a second to load, in which nothing is
    signed. A document that needs them nevertheless makes its worker load them for itself.

    Args:
        files: those that will be read.
        html_field: the field of lines that holds a page.
    """
    is_plain = all(_is_plain(file, html_field) for file in islice(files, _MOST_FILES))
    return (_LINES,) if is_plain else (*PRELOAD, _LINES)


def _is_plain(file: CorpusFile, html_field: str) -> bool:
    """Say whether a file begins with lines of JSON without pages and without Chinese."""
    if file.format != "jsonl" or file.compression:
        return False
    try:
        with Path(file.path).open("rb") as source:
            beginning = source.read(_FIRST_BYTES)
    except OSError:  # it was there when all were checked, and whoever reads it will say so
        return False
    has_pages = json.dumps(html_field, ensure_ascii=False).encode("utf-8", "replace") in beginning
    return not has_pages and _CHINESE.search(beginning) is None
