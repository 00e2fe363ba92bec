"""The words of known documents: deflated, or made anew from the line that they stand in.

Only some duplicates are compared word by word. Where documents are lines of files that will be there as
long as the run, it costs less to read such a line once more than to keep the words of all.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from io import FileIO

import numpy as np

from dedup.corpus.reading import jsonl
from dedup.corpus.reading.documents import Position, ReadOptions
from dedup.corpus.reading.fields import BadRecordError
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.reading.line_ranges import changed, open_again, read_record
from dedup.signature.batch import words_of
from dedup.signature.schemes import find_scheme

_REFERENCE = struct.Struct("<BIQQ")
REFERENCE = np.dtype([("bytes", "<u4"), ("mark", "u1"), ("file", "<u4"), ("offset", "<u8"), ("length", "<u8")])
"""What `refer` returns, behind its length, for many at once."""
# What zlib deflates never begins with it.
_MARK = 0


def refer(number: int, offset: int, length: int) -> bytes:
    """Return what is kept instead of the words of a document.

    Args:
        number: the number of its file, JSONL that is not compressed.
        offset: where the line behind its own begins.
        length: how many bytes its line has, without the end.
    """
    return _REFERENCE.pack(_MARK, number, offset, length)


class WordSource:
    """Gives the words of documents by what is kept of them.

    Args:
        files: the files of the corpus.
        options: how documents are found in them.
        scheme_name: how signatures are made.
    """

    def __init__(
        self, files: Sequence[CorpusFile] = (), options: ReadOptions | None = None, scheme_name: str = "words"
    ) -> None:
        self._files = files
        self._options = options or ReadOptions()
        self._scheme = find_scheme(scheme_name)
        self._number = 0
        self._open: FileIO | None = None

    def words(self, kept: bytes) -> bytes:
        """Return the words of a document.

        Args:
            kept: what `dedup.signature.deflating.deflate` or `refer` returned.

        Raises:
            InputError: its line is not what it was.
        """
        if kept[0] != _MARK:
            return zlib.decompress(kept)
        _, number, offset, length = _REFERENCE.unpack(kept)
        file = self._files[number]
        line = read_record(self._opened(number), file.name, offset, length)
        try:
            text = jsonl.document_of(line, file, Position(number, 0, offset), self._options).text
        except BadRecordError:
            text = None
        if text is None:
            raise changed(file.name)
        return words_of(text, self._scheme)

    def close(self) -> None:
        """Close the file that was read last."""
        if self._open is not None:
            self._open.close()

    def _opened(self, number: int) -> FileIO:
        # Most words are of the file that others were of.
        if self._open is None or number != self._number:
            self.close()
            self._number, self._open = number, open_again(self._files[number])
        return self._open
