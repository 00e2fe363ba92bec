"""Sibling addresses: of two pages of one host at which a site keeps its records, such as `?id=17` and `?id=18`."""

from __future__ import annotations

import re

_PAGE = re.compile(r"https?://(?:[^/?#]*@)?([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]+")


def are_siblings(a: str, b: str) -> bool:
    """Say whether two keys are addresses of one host, and differ in numbers alone.

    >>> are_siblings("https://shop.example/product/17", "https://shop.example/product/18")
    True
    >>> are_siblings("https://shop.example/product/17", "https://shop.example/product/17?print=1")
    False

    Args:
        a: the key of a document; in a crawl its URL. What is no address of the web has no siblings.
        b: that of another one; the order of the two makes no difference.
    """
    ours, theirs = _PAGE.fullmatch(a), _PAGE.fullmatch(b)
    if not (ours and theirs) or ours[1].lower() != theirs[1].lower() or ours[2] == theirs[2]:
        return False
    return _NUMBER.sub("0", ours[2]) == _NUMBER.sub("0", theirs[2])
