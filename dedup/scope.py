"""How far duplicates are looked for: everywhere, on the same host, or on the same registrable domain.

A scope is mixed into what is looked up. The digests of texts and bytes are those of text and scope, so
that the same text in two scopes is two texts; and the bits of a fingerprint are flipped in the permuted
tables where those of the scope's own number are set, which keeps distances within a scope and lets the
copies of other scopes lie elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from dedup.errors import SettingsError
from dedup.fingerprint.normalise import clean
from dedup.fingerprint.signature import Signature, digest

# Understood by Python and by PostgreSQL.
BEFORE_HOST = "(?i)^[a-z][a-z0-9+.-]*://([^/?#]*@)?"
_HOST = re.compile(BEFORE_HOST + r"(?P<host>[^/?#@]*)")
_PORT = re.compile(":[0-9]*$")
_FINGERPRINT_BYTES = 8


class Scope(StrEnum):
    """Where a document's duplicates are looked for."""

    ALL = "all"
    HOST = "host"
    DOMAIN = "domain"


def host_of(key: str) -> str:
    """Return host and port of a URL in lower case; of a key that is no URL the empty string."""
    found = _HOST.match(key)
    return found["host"].lower() if found else ""


class Scopes:
    """Tells the scopes of keys, and mixes them into what is looked up.

    Keys that are no URLs share one scope.

    Args:
        scope: how far duplicates are looked for.

    Raises:
        SettingsError: domains are asked for, and the library that knows them is not installed.
    """

    def __init__(self, scope: Scope) -> None:
        self.is_everything = scope is Scope.ALL
        self._scope = scope
        if scope is Scope.DOMAIN:
            _public_suffixes()

    def of(self, key: str) -> str:
        """Return what all keys of one scope have in common: a host with its port, or a registrable domain."""
        if self.is_everything:
            return ""
        host = host_of(clean(key))
        return host if self._scope is Scope.HOST else _domain_of(host)

    def mask(self, key: str) -> int:
        """Return the 64 bits that tell the scope of a key from others in the permuted tables."""
        return 0 if self.is_everything else _mask(self.of(key))

    def mixed(self, key: str, content_digest: bytes) -> bytes:
        """Return the digest of a text or of bytes together with the scope that a key is in."""
        return content_digest if self.is_everything else digest(self.of(key).encode() + b"\n" + content_digest)

    def mixed_signature(self, key: str, signature: Signature) -> Signature:
        """Return a signature whose digest is that of text and scope."""
        if self.is_everything:
            return signature
        return replace(signature, text_digest=self.mixed(key, signature.text_digest))


@lru_cache(maxsize=10_000)
def _mask(scope: str) -> int:
    return int.from_bytes(digest(b"scope\n" + scope.encode())[:_FINGERPRINT_BYTES], "little")


@lru_cache(maxsize=10_000)
def _domain_of(host: str) -> str:
    name = _PORT.sub("", host)
    # What has no public suffix, such as an address or localhost, is a domain of its own.
    return _public_suffixes()(name).top_domain_under_public_suffix or name


@lru_cache(maxsize=1)
def _public_suffixes() -> Any:
    try:
        import tldextract  # noqa: PLC0415 -- a tenth of a second that only this scope needs
    except ModuleNotFoundError:
        raise SettingsError(
            "DEDUP_SCOPE = 'domain' needs a library that is not installed: pip install tldextract"
        ) from None
    # The list that comes with the library: the same domains in every run, and nothing is fetched. Its
    # private part tells the sites of one provider apart.
    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
