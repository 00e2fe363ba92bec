"""Schemes: the ways to make signatures, this project's own and the published ones, by name.

A scheme is a kind of features, a weighting, a hash function, a width and a rule for ties; all go
through one implementation. This module loads neither the compiler nor a dictionary.

| name | features | source |
|---|---|---|
| words | words, jieba's for Chinese, by their counts | scheme 1, the default |
| pairs | the same, but Chinese in overlapping pairs of characters | scheme 1 without a segmenter |
| bigrams32, bigrams64 | distinct pairs of characters | "the cat sat on the mat", where the hash was Ruby's own |
| python64, python128 | what stands between spaces | the Python class of the acdreamers article |
| yanyiwu | keywords by TF-IDF, lookup3 | github.com/yanyiwu/simhash |
| go, go-listing | the same keywords, FNV-1a | a Go article; its listing misreads hashes from 2**63 on |
| textrank | keywords by TextRank, which finds none but Chinese ones | articles on jieba |
| ferd-md5, ferd-sha1 | pairs of bytes but the first and last | github.com/ferd/simhash |

Of sources that are wrong, this is right: `go` hashes as the Go article means to, and `go-listing` as it
does; the Python class compares fingerprints by their ratio as integers, which ranks unrelated texts
above alike ones: use 1 - distance / bits. Keywords and their IDF are those of the package jieba; the
C++ library that yanyiwu/simhash uses has another list, so only fingerprints of the same keywords and
weights are equal to its own.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from dedup.errors import SettingsError
from dedup.fingerprint.features import FEATURES, Features
from dedup.fingerprint.named_hashes import HASHES
from dedup.fingerprint.signature import SCHEME, Signature, make_signature


@dataclass(frozen=True)
class Scheme:
    """A way to make signatures.

    The digest and the sketch of a signature are made alike in all of them, but where the features need
    no segmenter, the sketch does not use one either.

    Attributes:
        features: the kind of features, a name in `dedup.fingerprint.features.FEATURES`.
        weights: their weighting, a name in `dedup.fingerprint.features.WEIGHTS`.
        hash: the hash function, a name in `dedup.fingerprint.named_hashes.HASHES`.
        bits: the width of the fingerprint.
        tie: the bit that a sum of 0 gives.
    """

    features: str
    weights: str
    hash: str
    bits: int
    tie: int = 0

    def __post_init__(self) -> None:
        for name, known in ((self.features, FEATURES), (self.hash, HASHES)):
            if name not in known:
                raise SettingsError(f"scheme '{self.spec}': '{name}' is none of {', '.join(known)}")
        if self.weights not in self._features.weights:
            raise SettingsError(
                f"scheme '{self.spec}': the weights of {self.features} can be {', '.join(self._features.weights)}"
            )
        if self.bits not in HASHES[self.hash].widths:
            widths = ", ".join(map(str, HASHES[self.hash].widths))
            raise SettingsError(f"scheme '{self.spec}': the width of {self.hash} can be {widths}")
        if self.tie not in (0, 1):
            raise SettingsError(f"scheme '{self.spec}': a tie gives 0 or 1")

    @property
    def spec(self) -> str:
        """The scheme's parts in one word, as `find_scheme` reads them."""
        parts = f"{self.features}/{self.weights}/{self.hash}/{self.bits}"
        return f"{parts}/tie{self.tie}" if self.tie else parts

    @cached_property
    def name(self) -> str:
        """Name and version, as stored with every index."""
        name = f"{self.spec}/sketch3x128x4"
        return SCHEME if f"1:{name}" == SCHEME else f"2:{name}"

    @property
    def segmenter(self) -> bool:
        """Whether Chinese is cut into words for the sketch."""
        return self._features.segmenter

    @property
    def is_of_tokens(self) -> bool:
        """Whether the features are the tokens that a signature has as its words."""
        return self.features in {"words", "pairs"}

    @property
    def is_compiled(self) -> bool:
        """Whether the fingerprint can be made of tokens by compiled code alone."""
        return self.is_of_tokens and (self.weights, self.hash, self.bits) == ("count", "mmh3", 64)

    @property
    def without_features(self) -> int:
        """The fingerprint of a text in which no feature is found: all sums are 0, and it tells nothing of the text."""
        return (1 << self.bits) - 1 if self.tie else 0

    def signature(self, text: str) -> Signature:
        """Make the signature of a text; see `dedup.fingerprint.signature.make_signature`."""
        return make_signature(text, self)

    @property
    def _features(self) -> Features:
        return FEATURES[self.features]


SCHEMES = {
    "words": Scheme("words", "count", "mmh3", 64),
    "pairs": Scheme("pairs", "count", "mmh3", 64),
    "bigrams32": Scheme("bigrams", "one", "mmh3", 32),
    "bigrams64": Scheme("bigrams", "one", "mmh3", 64),
    "python64": Scheme("split", "count", "python2", 64, tie=1),
    "python128": Scheme("split", "count", "python2", 128, tie=1),
    "yanyiwu": Scheme("tfidf", "rank", "jenkins", 64),
    "go": Scheme("tfidf", "rank", "fnv1a", 64),
    "go-listing": Scheme("tfidf", "rank", "fnv1a-listing", 64),
    "textrank": Scheme("textrank", "rank", "mmh3", 64),
    "ferd-md5": Scheme("bytes", "count", "md5", 128, tie=1),
    "ferd-sha1": Scheme("bytes", "count", "sha1", 160, tie=1),
}
"""The schemes with names of their own."""

DEFAULT = SCHEMES["words"]

_SPEC = re.compile("([^/]+)/([^/]+)/([^/]+)/([0-9]{1,4})(?:/tie([01]))?")


def find_scheme(name: str) -> Scheme:
    """Find a scheme by its name.

    Args:
        name: a key of `SCHEMES`, or FEATURES/WEIGHTS/HASH/BITS with, if need be, /tie1 behind it, such as
            `words/log/xxh3/64`.

    Raises:
        SettingsError: there is no such scheme.
    """
    if name in SCHEMES:
        return SCHEMES[name]
    match = _SPEC.fullmatch(name)
    if match is None:
        raise SettingsError(f"no scheme '{name}': take {', '.join(SCHEMES)} or FEATURES/WEIGHTS/HASH/BITS")
    return Scheme(match[1], match[2], match[3], int(match[4]), int(match[5] or 0))


def scheme_named(name: str) -> Scheme:
    """Find a scheme by its name and version, as they are stored with every index.

    Args:
        name: what `Scheme.name` returned.

    Raises:
        SettingsError: this program does not know it.
    """
    # The spec stands between the version and what the sketch is made of.
    with suppress(SettingsError):
        scheme = find_scheme(name.partition(":")[2].rpartition("/")[0])
        if scheme.name == name:
            return scheme
    raise SettingsError(f"scheme {name!r} is not known to this program; install the version that made it")
