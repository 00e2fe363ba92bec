"""The shingles and words that two texts share, and how far they may differ at most, by compiled code.

Tokens are compared byte by byte: words of other bytes can be made to have the same hashes. Texts with such words are
compared as they are where nothing is compiled.
"""

from __future__ import annotations

from dedup.compiled import KEY, native


def bounds(a: bytes, b: bytes) -> tuple[float, float, float, float, float, bool, bool] | None:
    """Return what `Bounds` has, in a tenth of the time that comparing texts word by word takes.

    That finds the most shared shingles that have the same order in both texts, and each of them takes at
    least one token more out of what lies between. Here nearly as many are found.

    Args:
        a: the tokens of one text in UTF-8, a line feed between them; at least one.
        b: those of the other.

    Returns:
        None where tokens of other bytes have the same hash.
    """
    return native.bounds(a, b, KEY)


def shared_tokens(text: bytes, other: bytes) -> bytes | None:
    """Return a byte for each token of a text: 1 where it is in a shingle that the other text has, else 0.

    Args:
        text: its tokens in UTF-8, a line feed between them; at least one.
        other: those of the other text.

    Returns:
        None where tokens of other bytes have the same hash.
    """
    return native.shared_tokens(text, other, KEY)
