"""Scopes: duplicates are looked for everywhere, or on the same host, registrable domain, or in the same space.

A space holds the documents of one spider, or of one run; a scope is a space, or a host or domain in it. It is
mixed into what is looked up. The digests of texts and bytes are those of text and scope, so that the same text
in two scopes is two texts; and the bits of a fingerprint and of bands are flipped in the keys where those of the
scope's own number are set, so that the copies of other scopes have other keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from dedup.errors import SettingsError
from dedup.signature.normalise import clean, normalise
from dedup.signature.schemes import default_scheme
from dedup.signature.signature import Signature, digest, without_signs
from dedup.signature.signing import words_of

# Understood by Python and by PostgreSQL.
BEFORE_HOST = "(?i)^[a-z][a-z0-9+.-]*://([^/?#]*@)?"
_HOST = re.compile(BEFORE_HOST + r"(?P<host>[^/?#@ ]*)")
_SAME_SITE = re.compile(r"^(?:(?:www|m|mobile|amp)\.)+(?=[^.:]+\.)")
_PORT = re.compile(":[0-9]*$")
_FINGERPRINT_BYTES = 8

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
"""The units of times in settings and arguments."""

_TIME = re.compile(rf"([0-9]{{1,9}})\s*([{''.join(SECONDS)}])", re.ASCII)

_PAGE = re.compile(r"https?://(?:[^/?#]*@)?([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]+")
# A date that begins with its year, or what says of itself that it is a version.
_VERSION = re.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}(?:[-/_.]?(?:0?[1-9]|1[0-2])(?:[-/_.]?(?:0?[1-9]|[12][0-9]|3[01]))?)?(?![0-9])"
    # Of `?v=2` it is the page's files that have changed, or nothing.
    r"|(?<![a-z])(?:v(?!=)|ver|version|rev|revision|release|edition|fassung|stand|as[-_]?of|asof|date)"
    r"[-/_=.]?[0-9]+(?:[-_.][0-9]+)*",
    re.IGNORECASE,
)
_AROUND_MONTHS, _ENDS_OF_MONTHS = {0, 13, 32}, {1, 12, 28, 29, 30, 31}
# Bytes: most words that any text has are as short, and single characters of Chinese.
_FUNCTION_WORD = 3
# A hyphen alone parts titles only where no letter of an alphabet stands beside it: 标题-新闻网.
_BETWEEN_PARTS = re.compile(
    r"\s+[-–—:·•«»/]+\s+|\s*[|_]+\s*|(?<=[\u3040-\u9fff\uac00-\ud7af])[-–—·]+(?=[\u3040-\u9fff\uac00-\ud7af])"
)


class Scope(StrEnum):
    """The scope in which duplicates are looked for."""

    ALL = "all"
    HOST = "host"
    DOMAIN = "domain"
    SPIDER = "spider"


def host_of(key: str) -> str:
    """Return host and port of a URL in lower case; of a key that is no URL the empty string."""
    found = _HOST.match(key)
    return found["host"].lower() if found else ""


def owner_of(key: str) -> str:
    """Return what URLs of a site have in common: host and port, without a leading `www.` or that of its phone pages."""
    return _SAME_SITE.sub("", host_of(key))


class Scopes:
    """Tells the scopes of documents by their keys and spaces, and mixes them into what is looked up.

    Keys of one space that are no URLs share one scope.

    Args:
        scope: how far duplicates are looked for.
        of_run: whether they are looked for in the same run alone.

    Raises:
        SettingsError: domains are asked for, and the library that knows them is not installed.
    """

    def __init__(self, scope: Scope, *, of_run: bool = False) -> None:
        self._scope = scope
        self._of_run = of_run
        self._is_of_keys = scope in (Scope.HOST, Scope.DOMAIN)
        if scope is Scope.DOMAIN:
            public_suffixes()

    def space_of(self, spider: str, run_id: int) -> str:
        """Return the space of the documents that a spider finds in a run; empty where there is but one."""
        parts = [f"spider {clean(spider)}"] if self._scope is Scope.SPIDER else []
        parts += [f"run {run_id}"] if self._of_run else []
        return "\n".join(parts)

    def is_plain(self, space: str = "") -> bool:
        """Return whether nothing is mixed into anything in a space."""
        return not (space or self._is_of_keys)

    def of(self, key: str, space: str = "") -> str:
        """Return what all documents of one scope have in common, such as a host with its port; mostly nothing."""
        if not self._is_of_keys:
            return space
        host = host_of(clean(key))
        place = host if self._scope is Scope.HOST else _domain_of(host)
        return f"{space}\n{place}" if space else place

    def mask(self, key: str, space: str = "") -> int:
        """Return the 64 bits that tell the scope of a document from others in its keys."""
        return 0 if self.is_plain(space) else _mask(self.of(key, space))

    def mixed(self, key: str, content_digest: bytes, space: str = "") -> bytes:
        """Return the digest of a text or of bytes together with the scope of its document."""
        if self.is_plain(space):
            return content_digest
        return digest(self.of(key, space).encode() + b"\n" + content_digest)

    def mixed_signature(self, key: str, signature: Signature, space: str = "") -> Signature:
        """Return a signature whose digest is that of text and scope."""
        if self.is_plain(space):
            return signature
        return replace(signature, text_digest=self.mixed(key, signature.text_digest, space))


@lru_cache(maxsize=10_000)
def _mask(scope: str) -> int:
    return int.from_bytes(digest(b"scope\n" + scope.encode())[:_FINGERPRINT_BYTES], "little")


def domain_of(key: str) -> str:
    """Return the registrable domain of a URL; of a key that is no URL the empty string."""
    host = host_of(clean(key))
    return _domain_of(host) if host else ""


@lru_cache(maxsize=10_000)
def _domain_of(host: str) -> str:
    name = _PORT.sub("", host)
    if found := str(public_suffixes()(name).top_domain_under_public_suffix):
        return found
    # An address or localhost is a domain of its own; else the last part is a suffix, as the list's own rule says.
    *_, before, last = ("", *name.rsplit(".", 2))
    is_name = bool(before) and last.isalpha() and public_suffixes()(name).suffix == ""
    return f"{before}.{last}" if is_name else name


@lru_cache(maxsize=1)
def public_suffixes() -> Any:
    """Return tldextract with the list of public suffixes that it comes with; nothing is fetched.

    Raises:
        SettingsError: tldextract is not installed.
    """
    try:
        import tldextract  # noqa: PLC0415 -- a tenth of a second that only this scope needs
    except ModuleNotFoundError:
        raise SettingsError(
            "DEDUP_SCOPE = 'domain' needs a library that is not installed: pip install tldextract"
        ) from None
    # The list that comes with the library: the same domains in every run, and nothing is fetched. Its
    # private part tells the sites of one provider apart.
    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


@dataclass(frozen=True, slots=True)
class Memory:
    """The documents that a new one is compared with.

    Attributes:
        of_run: only those of its own run.
        seconds: only those that were seen in so many seconds before the run began; None: all.
        name: as it is written in settings.
    """

    of_run: bool
    seconds: int | None
    name: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, name: str) -> Memory:
        """Read the setting `DEDUP_MEMORY`: `run`, `for ever`, or a time such as `30d`.

        Raises:
            ValueError: it is none of these; the message is what they are.
        """
        if name == "run":
            return cls(of_run=True, seconds=None, name=name)
        if name in ("for ever", "forever"):
            return FOR_EVER
        if found := _TIME.fullmatch(name):
            return cls(of_run=False, seconds=int(found[1]) * SECONDS[found[2]], name=f"{int(found[1])}{found[2]}")
        raise ValueError("'run', 'for ever', or a time such as '30d' (s, m, h, d, w)")


FOR_EVER = Memory(of_run=False, seconds=None, name="for ever")
"""Everything that the database knows."""


def are_siblings(a: str, b: str) -> bool:
    """Return whether two keys are addresses of one host, and differ in numbers alone.

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


def numbers_of_versions(a: str, b: str) -> frozenset[str]:
    """Return the numbers that tell nothing of two addresses that differ in a date or a version alone.

    These are the numbers of the dates, and those beside them, as a calendar links to the month before and behind.

    >>> sorted(numbers_of_versions("https://laws.example/v2/act", "https://laws.example/v4/act"))
    ['1', '2', '3', '4', '5']
    >>> sorted(numbers_of_versions("https://laws.example/17", "https://laws.example/18"))
    []
    >>> sorted(numbers_of_versions("https://laws.example/act?v=2", "https://laws.example/act?v=4"))
    []

    Args:
        a: the key of a document. What is no address of the web is no version.
        b: that of another one; the order of the two makes no difference.

    Returns:
        The numbers; none where the addresses are not those of two versions.
    """
    ours, theirs = _PAGE.fullmatch(a), _PAGE.fullmatch(b)
    if not (ours and theirs) or owner_of(a) != owner_of(b) or ours[2] == theirs[2]:
        return frozenset()
    if _VERSION.sub("", ours[2]) != _VERSION.sub("", theirs[2]):
        return frozenset()
    versions = [found for each in (ours, theirs) for found in _VERSION.findall(each[2])]
    numbers = {int(number) for version in versions for number in _NUMBER.findall(version)}
    near = numbers | {number + 1 for number in numbers} | {number - 1 for number in numbers}
    if near & _AROUND_MONTHS:
        near |= _ENDS_OF_MONTHS
    return frozenset(map(str, near))


def may_have_moved(a: str, b: str) -> bool:
    """Return whether what stands at one address may have stood at another one of its site before.

    On a host it may have moved to any path, between the hosts of a registrable domain at its own: another owner has
    copied it.

    >>> may_have_moved("https://news.example/2026/story", "https://news.example/story")
    True
    >>> may_have_moved("http://old.news.example/story/17", "https://news.example/story/17")
    True
    >>> may_have_moved("https://news.example/story/17", "https://mirror.example/story/17")
    False

    Args:
        a: the key of a document. What is no address of the web has not moved.
        b: that of another one; the order of the two makes no difference.
    """
    ours, theirs = _PAGE.fullmatch(a), _PAGE.fullmatch(b)
    if not (ours and theirs):
        return False
    if owner_of(a) == owner_of(b):
        return True
    has_port = any(_PORT.search(each[1]) for each in (ours, theirs))
    return ours[2] == theirs[2] not in ("", "/") and not has_port and domain_of(a) == domain_of(b)


FEWEST_PAGES = 5
"""If more than half of so many pages of a site have one text, and other titles, their own was not found."""


def says_too_little(tokens: int, equal: int, pages: int, short_tokens: int) -> bool:
    """Return whether pages of a site that have one text, and other titles, are told apart by these.

    Args:
        tokens: how many the text has.
        equal: how many pages of the site have it, and another title than the first that has.
        pages: how many pages of the site there are.
        short_tokens: texts of fewer are short.
    """
    return tokens < 2 * short_tokens or 2 * equal > pages >= FEWEST_PAGES


def are_other_titles(a: str, b: str) -> bool:
    """Return whether two pages of a site have other titles, the names of site and section apart.

    >>> are_other_titles("Ferry strike - Sports - The Gazette", "Ferry strike | The Gazette")
    False
    >>> are_other_titles("Ferry strike - The Gazette", "Ferry strike called off - The Gazette")
    True

    Args:
        a: the title of a page; empty: nobody knows, and nothing is told by it.
        b: that of another one; the order of the two makes no difference.
    """
    ours, theirs = _parts_of(a), _parts_of(b)
    return bool(ours[0] and theirs[0]) and ours[0] not in theirs and theirs[0] not in ours


@lru_cache(maxsize=1_000)
def _parts_of(title: str) -> list[str]:
    # A page is compared with several others, and each with several pages.
    return _BETWEEN_PARTS.split(normalise(title))


def covers_title(title: str, words: bytes) -> bool:
    """Return whether a text tells what a title says: at least a quarter of its words of more than three bytes.

    Args:
        title: the title of a page; empty: nobody knows, and nothing speaks against it.
        words: the words of the text, as `dedup.signature.signature.Signature` has them.
    """
    tokens = {
        token for token in without_signs(words_of(title, default_scheme())).split(b"\n") if len(token) > _FUNCTION_WORD
    }
    return 4 * len(tokens & set(without_signs(words).split(b"\n"))) >= len(tokens)
