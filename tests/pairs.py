"""Two documents side by side, as a search that has found one by the other compares them."""

from __future__ import annotations

from typing import Any

from dedup.rules.documents import Content, Match, StoredDocument
from dedup.rules.pair import Pair
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import Signature, without_signs
from dedup.signature.signing import make_signature

_ANY = make_signature("").sketch


def pair_of(
    first: Signature,
    second: Signature,
    settings: RuleSettings,
    *,
    siblings: bool = False,
    other_titles: bool = False,
    **values: Any,
) -> Pair:
    """Return two documents by their signatures: at sibling addresses, or of other titles on one site, if wanted."""
    path = "product/1" if siblings else "a"
    titles = ("Ferry strike", "Bread prices") if other_titles else ("", "")
    site = "https://shop.example/"
    stored = StoredDocument(1, f"{site}{path}", first.text_digest, first.fingerprint, first.sketch, title=titles[0])
    content = Content.of(second, f"{site}{path.replace('1', '2').replace('a', 'b')}", titles[1])
    return Pair(content, Match(stored, stored), settings, lambda _: first.words, **values)


def pair_of_words(first: bytes, second: bytes, settings: RuleSettings, **values: Any) -> Pair:
    """Return two documents of which the words alone are known."""
    return pair_of(_signature(first, b"a"), _signature(second, b"b"), settings, **values)


def _signature(words: bytes, digest: bytes) -> Signature:
    tokens = without_signs(words).count(b"\n") + 1 if words else 100
    sketch = _ANY._replace(tokens=tokens, shingles=tokens)
    return Signature(digest, 0, sketch, make_signature("").bands, words)
