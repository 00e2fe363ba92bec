"""Schemes: the ways to make signatures, found by name.

A scheme is a kind of features, a weighting, a hash function, a width and a rule for ties; all go through one
implementation. This project's own are here: `words` (the distinct pairs of neighbouring words, jieba's for Chinese: the
default) and `pairs` (the same, but Chinese in overlapping pairs of characters). The published ones are in
`dedup.published.schemes`. This module loads neither the compiler nor a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dedup.errors import SettingsError
from dedup.signature.dictionaries import read_dictionary_file, read_stop_words, read_user_words, vocabulary_of
from dedup.signature.parts import FEATURES, HASHES, WEIGHTS, Features, NamedHash
from dedup.signature.signature import Signature, make_signature
from dedup.signature.word_lists import JIEBA, Vocabulary, registered, unpack

if TYPE_CHECKING:
    from dedup.signature.tokens import Tokens


_MOST_KEYWORDS = 10_000
_BIGRAMS = ("word-bigrams", "pair-bigrams")
_VERSION = "2:"
# What the sketch and the bands are made of.
_SKETCH = "/sketch3x128x4/bands24x4"


@cache
def find_features(name: str) -> Features:
    """Find a kind of features by its name; raise SettingsError if there is none."""
    features: Features = _find(name, FEATURES, "FEATURES")
    return features


@cache
def find_weighting(name: str) -> Callable[[float], int]:
    """Find a weighting by its name; raise SettingsError if there is none."""
    weigh: Callable[[float], int] = _find(name, WEIGHTS, "WEIGHTS")
    return weigh


@cache
def find_hash(name: str) -> NamedHash:
    """Find a hash function by its name; raise SettingsError if there is none."""
    found: NamedHash = _find(name, HASHES, "HASHES")
    return found


def _find(name: str, own: Mapping[str, Any], published: str) -> Any:
    if name in own:
        return own[name]
    known = {**own, **_published(published)}
    if name not in known:
        raise SettingsError(f"'{name}' is none of {', '.join(known)}")
    return known[name]


def _published(registry: str) -> Mapping[str, Any]:
    # By its name: what is published is made of this package, which can do without it.
    found: Mapping[str, Any] = getattr(import_module("dedup.published.schemes"), registry)
    return found


@dataclass(frozen=True)
class Scheme:
    """A way to make signatures.

    The digest and the sketch of a signature are made alike in all of them, but where the features need
    no segmenter, the sketch does not use one either.

    Attributes:
        features: name of the kind of features.
        weights: name of their weighting.
        hash: name of the hash function.
        bits: the width of the fingerprint.
        tie: the bit that a sum of 0 gives.
        keywords: how many keywords are taken, where the features are such; None: as many as their source takes.
        stop_words: name of the list of words that are no keywords, besides jieba's own; empty: none.
        vocabulary: the Chinese words.
    """

    features: str
    weights: str
    hash: str
    bits: int
    tie: int = 0
    keywords: int | None = None
    stop_words: str = ""
    vocabulary: Vocabulary = JIEBA

    def __post_init__(self) -> None:
        try:
            features, widths = find_features(self.features), find_hash(self.hash).widths
        except SettingsError as error:
            raise SettingsError(f"scheme '{self.spec}': {error}") from None
        for holds, expected in (
            (
                self.weights in features.weights,
                f"the weights of {self.features} can be {', '.join(features.weights)}",
            ),
            (self.bits in widths, f"the width of {self.hash} can be {', '.join(map(str, widths))}"),
            (self.tie in {0, 1}, "a tie gives 0 or 1"),
            (
                features.keywords or not (self.keywords is not None or self.stop_words),
                f"{self.features} are no keywords: leave out their number and stop words",
            ),
            (self.keywords is None or 0 < self.keywords <= _MOST_KEYWORDS, f"1 to {_MOST_KEYWORDS:,} keywords"),
            (
                features.segmenter or self.vocabulary == JIEBA,
                f"{self.features} are made without Chinese words: leave out the dictionary",
            ),
        ):
            if not holds:
                raise SettingsError(f"scheme '{self.spec}': {expected}")

    @property
    def spec(self) -> str:
        """The scheme's parts in one word, as `find_scheme` reads them."""
        options = {"": "" if self.keywords is None else f"{self.keywords}", "stop=": self.stop_words}
        options |= {"only=": self.vocabulary.base, "dict=": self.vocabulary.added}
        features = "".join([self.features, *(f":{name}{value}" for name, value in options.items() if value)])
        parts = f"{features}/{self.weights}/{self.hash}/{self.bits}"
        return f"{parts}/tie{self.tie}" if self.tie else parts

    @cached_property
    def name(self) -> str:
        """Name and version, as stored with every index."""
        return f"{_VERSION}{self.spec}{_SKETCH}"

    @property
    def word_lists(self) -> list[str]:
        """The names of the word lists that signatures depend on, to be stored with every index."""
        return [name for name in (self.stop_words, *self.vocabulary) if name]

    @cached_property
    def segmenter(self) -> bool:
        """Whether Chinese is cut into words for the sketch."""
        return find_features(self.features).segmenter

    @property
    def is_of_tokens(self) -> bool:
        """Whether the features are made of the tokens that a signature has as its words."""
        return self.features in FEATURES

    @cached_property
    def is_compiled(self) -> bool:
        """Whether the fingerprint can be made of tokens by compiled code alone."""
        return self.features in _BIGRAMS and (self.weights, self.hash, self.bits) == ("one", "mmh3", 64)

    @property
    def without_features(self) -> int:
        """The fingerprint of a text in which no feature is found: all sums are 0, and it tells nothing of the text."""
        return (1 << self.bits) - 1 if self.tie else 0

    def weighted(self, text: str, tokens: Tokens) -> Mapping[bytes, float]:
        """Return the features of a text and their own weights: counts, or the ranks of keywords.

        Args:
            text: the text, cleaned; features that are tokens do not need it.
            tokens: its tokens.
        """
        return find_features(self.features).weighted(text, tokens, self)

    def weigh(self, weight: float) -> int:
        """Return the weight of a feature that is added up."""
        return find_weighting(self.weights)(weight)

    def hash_of(self, feature: bytes) -> int:
        """Return the hash of a feature; of a pair of tokens that of their hashes, one behind the other."""
        hash_of, size = find_hash(self.hash).of, self.bits // 8
        if self.features in _BIGRAMS:
            feature = b"".join(hash_of(token, self.bits).to_bytes(size, "little") for token in feature.split(b"\n"))
        return hash_of(feature, self.bits)

    def signature(self, text: str) -> Signature:
        """Make the signature of a text; see `dedup.signature.signature.make_signature`."""
        return make_signature(text, self)


DEFAULT = Scheme("word-bigrams", "one", "mmh3", 64)

_OWN = {"words": DEFAULT, "pairs": Scheme("pair-bigrams", "one", "mmh3", 64)}
_found = dict(_OWN)

_SPEC = re.compile("(.+)/([^/]+)/([^/]+)/([0-9]{1,4})(?:/tie([01]))?")
_OPTION = re.compile(":(?=[0-9]+(?::|$)|(?:stop|only|dict)=)")


@cache
def named_schemes() -> Mapping[str, Scheme]:
    """Return the schemes with names of their own."""
    return _OWN | {name: _scheme_of(spec) for name, spec in _published("SCHEMES").items()}


def default_scheme() -> Scheme:
    """Return the usual scheme, with the words that were given to jieba in this process."""
    vocabulary = vocabulary_of("")
    return DEFAULT if vocabulary == JIEBA else replace(DEFAULT, vocabulary=vocabulary)


def find_scheme(name: str) -> Scheme:
    """Find a scheme by its name.

    Args:
        name: a name of `named_schemes`, or FEATURES/WEIGHTS/HASH/BITS with, if need be, /tie1 behind it, such as
            `words/log/xxh3/64`. After a name or FEATURES may stand `:N`, how many keywords are taken;
            `:stop=FILE`, words that are none; `:dict=FILE`, Chinese words to add to jieba's; `:only=FILE`, a
            dictionary in the place of jieba's.

    Raises:
        SettingsError: there is no such scheme, or a file cannot be read.
    """
    scheme = _found.get(name)
    if scheme is None:
        scheme = _scheme_of(name)
        # What is in a file may have changed when it is named again.
        if ":" not in name or name == scheme.spec:
            _found[name] = scheme
    return scheme


def _scheme_of(name: str) -> Scheme:
    match = _SPEC.fullmatch(name)
    first, *options = _OPTION.split(match[1] if match else name)
    if match:
        scheme = Scheme(first, match[2], match[3], int(match[4]), int(match[5] or 0))
    elif first in _OWN or first in _published("SCHEMES"):
        scheme = named_schemes()[first]
    else:
        known = ", ".join([*_OWN, *_published("SCHEMES")])
        raise SettingsError(f"no scheme '{name}': take {known} or FEATURES/WEIGHTS/HASH/BITS")
    return _with_options(scheme, options) if options else scheme


def _with_options(scheme: Scheme, options: list[str]) -> Scheme:
    given: dict[str, str] = {}
    for option in options:
        name, _, value = option.rpartition("=") if option[0].isdigit() else option.partition("=")
        if name in given or not value:
            raise SettingsError(f"scheme '{scheme.spec}': '{option}' is empty, or given twice")
        given[name] = value
    known = registered()
    stop, base, added = (given.get(name, "") for name in ("stop", "only", "dict"))
    if base and base not in known:
        base = read_dictionary_file(base)
    return replace(
        scheme,
        keywords=int(given[""]) if "" in given else None,
        stop_words=stop if stop in known or not stop else read_stop_words(stop),
        vocabulary=Vocabulary(base, added if added in known or not added else read_user_words(added, base)),
    )


def with_dictionary(name: str, dictionary: str) -> str:
    """Return the name of a scheme with the words of a dictionary; files are named by what is in them.

    Args:
        name: the name of the scheme.
        dictionary: the setting, see `dedup.signature.dictionaries.vocabulary_of`; a scheme that names a
            dictionary itself, or needs none, asks for no other.

    Raises:
        SettingsError: there is no such scheme, a file cannot be read, or the scheme has no use for the dictionary.
    """
    scheme = find_scheme(name)
    if dictionary or (scheme.segmenter and scheme.vocabulary == JIEBA):
        vocabulary = vocabulary_of(dictionary)
        if JIEBA not in {vocabulary, scheme.vocabulary}:
            raise SettingsError(f"scheme '{name}' names a dictionary: leave DEDUP_DICTIONARY out")
        if vocabulary != JIEBA:
            scheme = replace(scheme, vocabulary=vocabulary)
    return scheme.spec if scheme.word_lists else name


def scheme_named(name: str, word_lists: str = "") -> Scheme:
    """Find a scheme by its name and version, as they are stored with every index.

    Args:
        name: what `Scheme.name` returned.
        word_lists: what is stored beside it, the lists that it depends on; they are known from then on.

    Raises:
        SettingsError: this program does not know it.
    """
    with suppress(SettingsError):
        unpack(word_lists)
        scheme = find_scheme(name.removeprefix(_VERSION).removesuffix(_SKETCH))
        if scheme.name == name:
            return scheme
    raise SettingsError(f"scheme {name!r} is not known to this program; install the version that made it")
