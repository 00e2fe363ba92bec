"""The way of texts to their signatures by compiled code, for texts of all scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dedup.compiled import KEY, native
from dedup.signature.markup import has_markup, without_markup
from dedup.signature.normalise import fold, simplified
from dedup.signature.schemes import Scheme
from dedup.signature.segmenter import NO_DICTIONARY, load_dictionary, loaded_dictionary
from dedup.signature.signature import (
    MULTIPLIERS,
    OFFSETS,
    SIGNATURE,
    Signature,
    SignedTexts,
    Sketch,
    Texts,
    digest,
    encoded,
)
from dedup.signature.text_folding import COMBINING, IS_HAN, Folding, folding

_Data = TypeVar("_Data", bytes, memoryview)

# A signature as compiled code writes it, in words of 64 bits: see `dedup.signature.signature.SIGNATURE`.
_ROW = SIGNATURE.itemsize // 8
# Until the digest is there, its words say where the normalised text ends, and where its words do.
_END, _WORDS_END = 0, 1
# Stretches nearer to each other than so many bytes, on average, are not worth being normalised one by one.
_FAR_APART = 256
_PERMUTATIONS = (MULTIPLIERS, OFFSETS)
# How Han characters, and few others, begin in UTF-8.
_HAN = re.compile(b"\xe2[\xba-\xbf]|[\xe3-\xe9\xef\xf0]")


def bands_of(tokens: bytes) -> NDArray[np.uint64]:
    """Return the bands of a text by its tokens, with a line feed between them, shape (24,)."""
    return np.frombuffer(native.bands_of(tokens, _PERMUTATIONS), np.uint64)


def words_of(text: str, scheme: Scheme) -> bytes:
    """Return the words of a text as its signature has them, without the rest of it."""
    return _signed(Texts.of([simplified(without_markup(text))]), scheme, with_words=True, with_rows=False)[-1]


def sign(text: str, scheme: Scheme) -> Signature:
    """Make the signature of a text; see `dedup.signature.signing.make_signature`."""
    rows, words = _sign_unmarked(Texts.of([simplified(without_markup(text))]), scheme, with_words=True)
    return signature_of(rows[0], words[0])


def signature_of(row: Any, words: bytes) -> Signature:
    """Return the signature of a row of the type `SIGNATURE`, and words."""
    text_digest, fingerprint, minima, shingles, tokens, numbers, bands = row
    sketch = Sketch(minima.tobytes(), int(numbers), int(tokens), int(shingles))
    return Signature(text_digest.tobytes(), int(fingerprint), sketch, bands, words)


def sign_texts(texts: Texts, scheme: Scheme, *, with_words: bool = False) -> SignedTexts:
    """Make the signatures of many texts by compiled code.

    Args:
        texts: any texts, in valid UTF-8.
        scheme: the way to make them.
        with_words: whether their words are wanted.
    """
    unmarked = _changed(texts, has_markup, without_markup)
    return _sign_unmarked(_changed(unmarked, _has_han, simplified), scheme, with_words=with_words)


def _sign_unmarked(texts: Texts, scheme: Scheme, *, with_words: bool) -> SignedTexts:
    rows, normalised, words = _signed(texts, scheme, with_words=with_words)
    own_words = _cut(words, rows[:, _WORDS_END]) if with_words else []
    digests = b"".join(map(digest, _cut(memoryview(normalised), rows[:, _END])))
    signatures = rows.view(SIGNATURE)[:, 0]
    signatures["digest"] = np.frombuffer(digests, np.uint64).reshape(-1, 2)
    return SignedTexts(signatures, own_words)


def _signed(
    texts: Texts, scheme: Scheme, *, with_words: bool, with_rows: bool = True
) -> tuple[NDArray[np.int64], bytes, bytes]:
    """Return the rows that compiled code fills, the normalised texts, and the words; both if they are wanted."""
    tables, refused = folding(), COMBINING
    dictionary = loaded_dictionary(scheme.vocabulary) if scheme.segmenter else NO_DICTIONARY
    rows = np.empty((len(texts.offsets) - 1, _ROW), np.int64)
    while True:
        needed, normalised, words = native.sign(
            texts.data,
            texts.offsets,
            refused,
            scheme.segmenter,
            with_words,
            with_rows,
            tables,
            dictionary,
            _PERMUTATIONS,
            KEY,
            rows,
        )
        if needed == COMBINING:
            texts = _combined(texts, tables)
            refused = 0
        elif needed == IS_HAN:
            dictionary = load_dictionary(scheme.vocabulary)
        else:
            return rows, normalised, words


def _cut(data: _Data, ends: NDArray[np.int64]) -> list[_Data]:
    return [data[start:end] for start, end in pairwise([0, *ends.tolist()])]


def _combined(texts: Texts, tables: Folding) -> Texts:
    """Normalise those stretches of texts whose normalisation depends on more than single characters."""
    data = texts.data.data
    parts: list[bytes] = []
    for start, end in pairwise(texts.offsets.tolist()):
        most = (end - start) // _FAR_APART + 1
        found = np.frombuffer(
            native.combining(texts.data, start, end, most, tables.classes, tables.starts), np.int64
        ).reshape(-1, 2)
        # Instead of many the whole text.
        stretches = found.tolist() if len(found) < most else [(start, end)]
        own: list[bytes] = []
        at = start
        for first, behind in stretches:
            # A digit joins nothing, and no space is cut off where there is one.
            normalised = fold(f"0{str(data[first:behind], 'utf-8')}0")[1:-1].encode()
            own += bytes(data[at:first]), normalised
            at = behind
        parts.append(b"".join((*own, data[at:end])))
    return Texts.joined(parts)


def _changed(texts: Texts, may_change: Callable[[bytes], bool], change: Callable[[str], str]) -> Texts:
    """Return texts as a function makes them, which is asked only of those that it may change."""
    data = texts.data.tobytes()
    if not may_change(data):
        return texts
    parts = [data[start:end] for start, end in pairwise(texts.offsets.tolist())]
    is_changed = False
    for place, part in enumerate(parts):
        if may_change(part) and (changed := change(text := part.decode())) is not text:
            parts[place], is_changed = encoded(changed), True
    return Texts.joined(parts) if is_changed else texts


def _has_han(data: bytes) -> bool:
    return _HAN.search(data) is not None
