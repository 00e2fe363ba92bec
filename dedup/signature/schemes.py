"""Schemes: the ways to make signatures, found by name.

`words` makes the fingerprint of the distinct pairs of neighbouring words, jieba's for Chinese: the default. `pairs`
does the same, but cuts Chinese into overlapping pairs of characters, and needs no dictionary. This module loads no
dictionary.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from dedup.errors import SettingsError
from dedup.signature.dictionaries import JIEBA, Vocabulary, read_dictionary_file, read_user_words, vocabulary_of

_FEATURES = {"words": "word-bigrams", "pairs": "pair-bigrams"}
# How often a pair comes plays no part, MurmurHash3 hashes it, and the fingerprint has so many bits.
_FINGERPRINT = "/one/mmh3/64"
_VERSION = "4:"
# What the sketch and the bands are made of.
_SKETCH = "/sketch3x128x4/bands24x4"
_OPTION = re.compile(":(?=(?:only|dict)=)")


@dataclass(frozen=True)
class Scheme:
    """A way to make signatures.

    Attributes:
        features: what the fingerprint is made of: `word-bigrams` or `pair-bigrams`.
        vocabulary: the Chinese words.

    Raises:
        SettingsError: pairs of characters are made without Chinese words, and some are given.
    """

    features: str
    vocabulary: Vocabulary = JIEBA

    def __post_init__(self) -> None:
        if not self.segmenter and self.vocabulary != JIEBA:
            raise SettingsError(
                f"scheme '{self.spec}': {self.features} are made without Chinese words: leave out the dictionary"
            )

    @property
    def spec(self) -> str:
        """The scheme's parts in one word, as `find_scheme` reads them."""
        options = {"only": self.vocabulary.base, "dict": self.vocabulary.added}
        return self.features + "".join(f":{name}={value}" for name, value in options.items() if value) + _FINGERPRINT

    @cached_property
    def name(self) -> str:
        """Name and version, as stored with every index."""
        return f"{_VERSION}{self.spec}{_SKETCH}"

    @property
    def word_lists(self) -> list[str]:
        """The names of the word lists that signatures depend on."""
        return [name for name in self.vocabulary if name]

    @property
    def segmenter(self) -> bool:
        """Whether Chinese is cut into words."""
        return self.features == _FEATURES["words"]


SCHEMES = {name: Scheme(features) for name, features in _FEATURES.items()}
"""The schemes by their names."""
DEFAULT = SCHEMES["words"]

_found = dict(SCHEMES)


def default_scheme(dictionary: str = "") -> Scheme:
    """Return the usual scheme with the words of a dictionary, see `dedup.signature.dictionaries.vocabulary_of`."""
    vocabulary = vocabulary_of(dictionary)
    return DEFAULT if vocabulary == JIEBA else replace(DEFAULT, vocabulary=vocabulary)


def find_scheme(name: str) -> Scheme:
    """Find a scheme by its name.

    Args:
        name: `words`, `pairs`, or the `Scheme.spec` of one. After `words` may stand `:dict=FILE`, Chinese words to
            add to jieba's; `:only=FILE`, a dictionary in the place of jieba's.

    Raises:
        SettingsError: there is no such scheme, or a file cannot be read.
    """
    scheme = _found.get(name)
    if scheme is None:
        scheme = _scheme_of(name)
        # What is in a file may have changed when it is named again.
        if name == scheme.spec:
            _found[name] = scheme
    return scheme


def _scheme_of(name: str) -> Scheme:
    first, *options = _OPTION.split(name.removesuffix(_FINGERPRINT))
    is_spec = name.endswith(_FINGERPRINT)
    scheme = next((each for own, each in SCHEMES.items() if first == (each.features if is_spec else own)), None)
    if scheme is None:
        raise SettingsError(f"no scheme '{name}': take {' or '.join(SCHEMES)}")
    return _with_words(scheme, options, are_files=not is_spec) if options else scheme


def _with_words(scheme: Scheme, options: list[str], *, are_files: bool) -> Scheme:
    given: dict[str, str] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name in given or not value:
            raise SettingsError(f"scheme '{scheme.spec}': '{option}' is empty, or given twice")
        given[name] = value
    base, added = (given.get(name, "") for name in ("only", "dict"))
    if base and are_files:
        base = read_dictionary_file(base)
    if added and are_files:
        added = read_user_words(added, base)
    return replace(scheme, vocabulary=Vocabulary(base, added))


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


def scheme_named(name: str) -> Scheme:
    """Find a scheme by its name and version, as they are stored with every index.

    Whoever makes signatures by it needs the files of its dictionaries, of which the name has the digests.

    Args:
        name: what `Scheme.name` returned.

    Raises:
        SettingsError: this program does not know it.
    """
    with suppress(SettingsError):
        scheme = find_scheme(name.removeprefix(_VERSION).removesuffix(_SKETCH))
        if scheme.name == name:
            return scheme
    raise SettingsError(f"scheme {name!r} is not known to this program; install the version that made it")
