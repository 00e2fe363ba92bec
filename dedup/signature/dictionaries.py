"""jieba's dictionary, and those of users: files in its formats, and words given to jieba in this process.

What is kept of the words that are added to a dictionary are their frequencies once jieba has read them, in the
order of the words and in the same format: read again, by jieba or `dedup.signature.segmenter`, they are the same
dictionary.
"""

from __future__ import annotations

import io
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dedup.errors import SettingsError

if TYPE_CHECKING:
    from jieba import Tokenizer

_lists: dict[str, bytes] = {}

NO_OTHER_DICTIONARY = "none"
"""The setting by which words are jieba's own, whatever was given to jieba in this process."""

_ONLY = "only:"
_MOST = 2**62
_WHOLE_LINE = re.compile("([^ ]+) ([0-9]{1,18})(?: ([^ ]+))?")
_FREQUENCY = re.compile(r" ([0-9]{19,})(?: [a-z]+)?$")
# jieba looks for no words in what stands around this character, so that one of it changes nothing but the sum.
_NO_WORD = "∑"


class Vocabulary(NamedTuple):
    """The Chinese words that a text is cut into.

    They are looked for in runs of Han: a word with letters or digits in it (T恤) is none here.

    Attributes:
        base: name of the word list that stands in the place of jieba's dictionary; empty: that.
        added: name of the one whose words are added to it, or replace its own; empty: none are.
    """

    base: str = ""
    added: str = ""


JIEBA = Vocabulary()
"""The words of the dictionary that jieba brings."""


def register(content: bytes) -> str:
    """Make a word list known in this process; return its name, a digest."""
    name = blake2b(content, digest_size=8).hexdigest()
    _lists[name] = content
    return name


def registered() -> dict[str, bytes]:
    """Return the word lists that are known in this process, by their names."""
    return dict(_lists)


def content_of(name: str) -> bytes:
    """Return the content of a word list.

    Raises:
        SettingsError: it is not known in this process.
    """
    try:
        return _lists[name]
    except KeyError:
        raise SettingsError(
            f"the word list {name} is not known here; name its file: --dictionary, or DEDUP_DICTIONARY"
        ) from None


def prepare(lists: Iterable[bytes]) -> None:
    """Make word lists known in this process."""
    for content in lists:
        register(content)


def vocabulary_of(setting: str) -> Vocabulary:
    """Return the words that the setting DEDUP_DICTIONARY stands for.

    Args:
        setting: a file of words to add, as `jieba.load_userdict` reads it; `only:` and a whole dictionary, as
            `jieba.set_dictionary` reads it; `none`; or empty: what was given to jieba in this process.

    Raises:
        SettingsError: the file cannot be read, or a line of it.
    """
    if not setting:
        return _of_process()
    if setting == NO_OTHER_DICTIONARY:
        return JIEBA
    if setting.startswith(_ONLY):
        return Vocabulary(read_dictionary_file(setting.removeprefix(_ONLY)))
    return Vocabulary(added=read_user_words(setting))


def read_dictionary_file(path: str) -> str:
    """Read a whole dictionary, a word, its frequency and maybe a tag a line; return the name of the word list.

    Raises:
        SettingsError: it cannot be read; the message names the line.
    """
    lines, total = [], 0
    for where, line in _lines(path):
        match = _WHOLE_LINE.fullmatch(line)
        if match is None:
            raise SettingsError(f"{where}: expected a word, a space and its frequency, not {line[:40]!r}")
        total += int(match[2])
        # jieba's tags of words need one in each line; what it does not know is x.
        lines.append(f"{match[1]} {match[2]} {match[3] or 'x'}\n")
    if not 0 < total < _MOST:
        raise SettingsError(f"{path}: the frequencies add up to {total:,}; expected 1 to {_MOST:,}")
    return register("".join(lines).encode())


def read_user_words(path: str, base: str = "") -> str:
    """Read words that are added to a dictionary, a word and maybe its frequency and a tag a line.

    Args:
        path: the file.
        base: name of the word list that is the dictionary; empty: jieba's.

    Returns:
        The name of the word list; empty where the words change nothing.

    Raises:
        SettingsError: it cannot be read; the message names the line.
    """
    lines = []
    for where, line in _lines(path):
        if "\t" in line:
            raise SettingsError(f"{where}: a tab; jieba wants spaces before the frequency and the tag")
        if _FREQUENCY.search(line):
            raise SettingsError(f"{where}: a frequency of more than 18 digits")
        lines.append(f"{line}\n")
    theirs = tokenizer_of(Vocabulary(base))
    changed = _copy(theirs)
    changed.load_userdict(io.BytesIO("".join(lines).encode()))
    return _register_changes(changed, theirs, path)


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """Yield where each line stands, and the line without what surrounds it."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror or error}); name a file of words") from None
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        where = f"{path}, line {number:,}"
        try:
            yield where, line.strip().decode()
        except UnicodeDecodeError:
            raise SettingsError(f"{where}: not UTF-8; write the file in it") from None


def _of_process() -> Vocabulary:
    """Return the words that jieba has in this process: those that it brings, and what others gave to it."""
    jieba = sys.modules.get("jieba")
    theirs = getattr(jieba, "dt", None)
    if jieba is None or theirs is None or not (theirs.initialized or theirs.dictionary):
        return JIEBA
    theirs.check_initialized()
    # Whatever its functions change, changes one of these.
    return _of_tokenizer(theirs.dictionary or "", theirs.total, len(theirs.FREQ), len(jieba.finalseg.Force_Split_Words))


@lru_cache(1)
def _of_tokenizer(dictionary: str, *_: int) -> Vocabulary:
    theirs = sys.modules["jieba"].dt
    base = read_dictionary_file(dictionary) if dictionary else ""
    return Vocabulary(base, _register_changes(theirs, tokenizer_of(Vocabulary(base)), "jieba in this process"))


def _register_changes(changed: Tokenizer, base: Tokenizer, where: str) -> str:
    tags = changed.user_word_tag_tab
    words = {
        word: frequency
        for word, frequency in changed.FREQ.items()
        if frequency != base.FREQ.get(word, 0) or word in tags
    }
    # jieba divides by the sum of all that it was ever given, and finds no word that has white space.
    lines = {word: frequency for word, frequency in words.items() if not any(map(str.isspace, word))}
    rest = changed.total - base.total - sum(lines.values())
    if changed.total >= _MOST:
        raise SettingsError(f"{where}: the frequencies add up to {changed.total:,}; expected less than {_MOST:,}")
    if rest < 0:
        raise SettingsError(
            f"{where}: its dictionary was changed by other means than its functions; use those, or set "
            f"DEDUP_DICTIONARY = '{NO_OTHER_DICTIONARY}'"
        )
    if rest:
        lines[_NO_WORD] = lines.get(_NO_WORD, 0) + rest
    if not lines:
        return ""
    named = (f"{word} {lines[word]} {tags.get(word, '')}".rstrip() for word in sorted(lines))
    return register("".join(f"{line}\n" for line in named).encode())


@lru_cache(4)
def tokenizer_of(vocabulary: Vocabulary) -> Tokenizer:
    """Return jieba's tokenizer with these words; nobody else has it.

    Raises:
        SettingsError: a word list is not known in this process.
    """
    tokenizer = load_jieba()
    if vocabulary.base:
        whole = content_of(vocabulary.base)
        tokenizer = _copy(tokenizer)
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(io.BytesIO(whole))
        tokenizer.get_dict_file = lambda: io.BytesIO(whole)
    if vocabulary.added:
        added = _copy(tokenizer)
        added.get_dict_file = tokenizer.get_dict_file
        added.load_userdict(io.BytesIO(content_of(vocabulary.added)))
        return added
    return tokenizer


def _copy(tokenizer: Tokenizer) -> Tokenizer:
    copy = type(tokenizer)()
    copy.FREQ, copy.total, copy.initialized = dict(tokenizer.FREQ), tokenizer.total, True
    return copy


@cache
def load_jieba() -> Tokenizer:
    """Load jieba's own tokenizer, once."""
    import jieba  # noqa: PLC0415 -- half a second and 100 MB

    jieba.setLogLevel(logging.WARNING)
    # Not the module's own one, to which anybody may have added words.
    tokenizer = jieba.Tokenizer()
    try:
        tokenizer.initialize()
    except FileNotFoundError:  # there is no folder for temporary files, where jieba keeps what it has read
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
    return tokenizer
