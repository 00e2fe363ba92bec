"""Which modules the worker processes of a corpus shall share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from itertools import islice

from dedup.corpus.reading.documents import CorpusDocument, ReadOptions
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.remote import is_url
from dedup.workers.pool import PRELOAD

_BATCHES = "dedup.corpus.signing.preloaded"
_MOST_FILES = 8
_MOST_DOCUMENTS = 20
_CHINESE = re.compile("[\u4e00-\u9fff]")


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
    """Say whether a file begins with texts that are not Chinese."""
    if is_url(file.path):
        # Its beginning would be fetched twice.
        return False
    try:
        read = import_module(f"dedup.corpus.reading.{file.format}").read
        first = list(islice(read(file, 0, options, None), _MOST_DOCUMENTS))
    except OSError:  # it was there when all were checked, and whoever reads it will say so
        return False
    texts = [item.text for item in first if isinstance(item, CorpusDocument)]
    return all(text is not None and _CHINESE.search(text) is None for text in texts)
