"""The public functions: deduplicate texts, compare two, decide against a database.

Scrapy and the database library are loaded where they are used first.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import closing, contextmanager
from dataclasses import fields
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

from dedup.compiled import native
from dedup.keys import TableDesign
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document
from dedup.rules.scope import Memory, Scope
from dedup.rules.settings import Caution, DedupSettings, LostLimit, Mode, RuleSettings, unknown_rule, with_changes
from dedup.signature.schemes import find_scheme
from dedup.signature.signature import Signature
from dedup.signature.signing import make_signature

if TYPE_CHECKING:
    from dedup.rules.two_texts import PairDecision

logger = logging.getLogger("dedup")

# So many texts at once take less time than a transaction for each.
_MANY = 1_000


class Rules(TypedDict, total=False):
    """The named arguments that are rules, see `dedup.RuleSettings`."""

    scheme: str
    dictionary: str
    mode: Mode | Literal["checked", "paper"]
    radius: int
    tables: TableDesign | str
    min_tokens: int
    caution: Caution | Literal["careful", "balanced", "eager"]
    min_jaccard: float
    max_lost: LostLimit | int | str


class Settings(Rules, total=False):
    """Those that are settings of a database, too, see `dedup.DedupSettings`."""

    enabled: bool
    outage_timeout: float
    run: str
    scope: Scope | Literal["all", "host", "domain", "spider"]
    memory: Memory | str
    mark_only: bool
    report: str


def deduplicate(
    texts: Iterable[str | tuple[str, str]], *, database: str | Path = "", **settings: Unpack[Settings]
) -> Iterator[Decision]:
    """Decide texts one after the other, each against all before it; the verdicts are those of `dedup files`.

    >>> story = "The ferry to the island leaves at seven in the morning and comes back when the last guests have gone."
    >>> copy = story.replace(" ", "  ")
    >>> [decision.verdict.value for decision in deduplicate([story, "Another text.", copy])]
    ['new', 'new', 'exact duplicate']

    A text that is a duplicate names the first text of its cluster:

    >>> decisions = list(deduplicate([("morning", story), ("evening", copy)]))
    >>> decisions[1].key, decisions[1].original, decisions[1].similarity
    ('evening', 'morning', 1.0)
    >>> print(decisions[1])
    evening: exact duplicate of morning: the same text

    One that resembles an earlier text and is no copy is similar. It is kept, and names that text, too:

    >>> decisions = list(deduplicate([story, story.replace("seven", "eight")]))
    >>> decisions[1].is_dropped, decisions[1].original, decisions[1].rule.says
    (False, '0', 'numbers differ')

    Args:
        texts: strings, whose keys are then "0", "1", ..., or pairs of key and text. A list of a thousand and more is
            decided at once, before the first decision is returned; of all else they are read as decisions are taken,
            one at a time, with a database up to `batch_size` (50).
        database: where texts are remembered, an SQLite file or `postgresql://...`; empty: in memory, as long as this
            lasts. With a database texts need keys, and are decided against what it knew before, too.
        **settings: rules, the fields of `dedup.RuleSettings`, such as `min_jaccard=0.6`; with a database also the
            others of `dedup.DedupSettings`.

    Returns:
        A decision for each text, in their order. Another text under a key that was there before in the same call is
        another text, as is a second one without a key.

    Raises:
        SettingsError: a setting has a value that cannot be used.
        DatabaseError: the database cannot be opened, read or written.
        TypeError: what is given is no text, or there is no such setting.
    """
    _require_pairs(texts, "deduplicate", of_one="[text]")
    if database:
        return _in_database(texts, _settings_of(database, settings))
    return _in_memory(texts, RuleSettings(**_of(RuleSettings, settings)))


def similarity(a: str, b: str, **rules: Unpack[Rules]) -> PairDecision:
    """Return whether a text is a duplicate of another one, or similar to it, and why.

    >>> found = similarity("The ferry leaves at seven.", "The ferry leaves at eight.")
    >>> found.is_duplicate, found.distance, round(found.similarity.jaccard, 1)
    (False, 13, 0.5)
    >>> found.rule.says
    'too short to compare'

    >>> story = "The ferry to the island leaves at seven in the morning and comes back when the last guests have gone."
    >>> found = similarity(story, story.replace("seven", "eight"))
    >>> print(found)
    similar, 65% alike: numbers differ

    Args:
        a: a text.
        b: the other one, decided as if it came after the first.
        **rules: the fields of `dedup.RuleSettings`.

    Returns:
        The rule that decided, the distance of the fingerprints in bits, the similarity that the sketches estimate, and
        the numbers of the tables and bands that the two texts share: the keys by which one is found for the other.

    Raises:
        SettingsError: a setting has a value that cannot be used.
        TypeError: what is given is no text, or there is no such setting.
    """
    from dedup.rules.two_texts import PairDecider

    settings = RuleSettings(**_of(RuleSettings, rules))
    for name, text in (("a", a), ("b", b)):
        _require_text(name, text)
    scheme = find_scheme(settings.scheme)
    return PairDecider(settings).decide(make_signature(a, scheme), make_signature(b, scheme))


class Deduplicator:
    """Decides texts against all that a database has seen.

    >>> import tempfile
    >>> text = "The ferry to the island leaves at seven in the morning and comes back when the last guests have gone."
    >>> with tempfile.TemporaryDirectory() as folder, Deduplicator(f"{folder}/texts.db") as deduplicator:
    ...     for key in ("a", "b", "a"):
    ...         decision = deduplicator.decide(key, text)
    ...         print(decision.verdict, decision.original)
    new None
    exact duplicate a
    unchanged None

    Its decisions are one run of the database, which begins with the first text and ends with `close`. Threads
    may share one: what they ask is done one after the other.

    Args:
        database: an SQLite file or `postgresql://...`; or all settings, with the database.
        **settings: fields of `dedup.DedupSettings`; `run` gives the run a name. With another `caution` come its
            limits, in the place of those that nobody gave.

    Raises:
        SettingsError: a setting has a value that cannot be used.
        DatabaseError: the database cannot be opened, or was made with another scheme or table design.
        TypeError: there is no such setting.
    """

    def __init__(self, database: str | Path | DedupSettings, **settings: Unpack[Settings]) -> None:
        from dedup.store.deduplicator import Deduplicator as DatabaseDeduplicator

        self._settings = _settings_of(database, settings)
        self._scheme = find_scheme(self._settings.scheme)
        self._deduplicator = DatabaseDeduplicator(self._settings)
        self._run_id: int | None = None
        self._is_closed = False
        self._lock = Lock()

    def decide(self, key: str, text: str | Signature) -> Decision:
        """Decide a text, and remember it.

        A key that is known is never a duplicate of itself: its text is unchanged, or updated.

        Args:
            key: what identifies the text, such as a URL.
            text: the text, or the signature that `dedup.make_signature` has made of it.

        Raises:
            DatabaseError: nothing of it was written.
            TypeError: what is given is no text, or no key.
            ValueError: it is closed.
        """
        [decision] = self._decide([self._document(key, text, separate=False)])
        return decision

    def decide_all(self, texts: Iterable[tuple[str, str | Signature]], *, separate: bool = False) -> list[Decision]:
        """Decide texts one after the other, in one transaction, which is faster than one by one.

        Args:
            texts: pairs of what `decide` takes.
            separate: whether another text under a key that this object has decided before is another text, with a
                key of its own, and the same one a duplicate; else it is updated, or unchanged.

        Raises:
            DatabaseError: nothing of it was written.
            TypeError: what is given is no text, or no key.
            ValueError: it is closed.
        """
        _require_pairs(texts, "decide_all", of_one="[(key, text)]")
        pairs = (_pair(number, given, str | Signature) for number, given in enumerate(texts))
        return self._decide([self._document(key, text, separate=separate) for key, text in pairs])

    def _decide(self, documents: list[Document]) -> list[Decision]:
        from dedup.store.runs import name_by_time

        with self._used():
            if self._run_id is None:
                self._run_id = self._deduplicator.open_run(self._settings.run or name_by_time())
            decisions = self._deduplicator.decide(documents, self._run_id)
        # Only documents without a signature have none.
        return [decision for decision in decisions if decision is not None]

    def find(self, text: str | Signature, *, key: str = "") -> Decision:
        """Look up a text: return the decision that it would get under a new key, and remember nothing.

        Args:
            text: what `decide` takes.
            key: its key; it matters where duplicates are looked for within a host or domain alone.

        Raises:
            DatabaseError: the database cannot be read.
            TypeError: what is given is no text, or no key.
            ValueError: it is closed.
        """
        document = self._document(key, text, separate=False)
        with self._used():
            return self._deduplicator.find(document, self._run_id or 0)

    def forget(self, keys: Iterable[str]) -> None:
        """Take texts that exist no more out of the index: nothing is a duplicate of them any more.

        Args:
            keys: their keys; those that are not known are passed over.

        Raises:
            DatabaseError: nothing of it was written.
            TypeError: what is given is no keys.
            ValueError: it is closed.
        """
        _require_many(keys, "keys", of_one="forget([key])", of_table="forget(frame['url'])")
        found = [_require_key(f"key {number}: it", key) for number, key in enumerate(keys)]
        with self._used():
            self._deduplicator.forget(found)

    def close(self) -> None:
        """End the run, and close the database."""
        self._end("finished")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end("finished" if kind is None else "stopped")

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Keep other threads from the database meanwhile; refuse one that is closed."""
        with self._lock:
            if self._is_closed:
                raise ValueError("this Deduplicator is closed: make another one")
            yield

    def _end(self, outcome: str) -> None:
        with self._lock, closing(self._deduplicator):
            self._is_closed = True
            if self._run_id is not None:
                self._deduplicator.close_run(self._run_id, outcome)
                self._run_id = None

    def _document(self, key: str, text: str | Signature, *, separate: bool) -> Document:
        _require_key("the key", key)
        if isinstance(text, Signature):
            return Document(key, text, separate=separate)
        _require_text("the text", text)
        size = len(text.encode("utf-8", "surrogatepass"))
        return Document(key, make_signature(text, self._scheme), size, separate=separate)


def _settings_of(database: str | Path | DedupSettings, given: Settings) -> DedupSettings:
    """Return the settings of a database that is named by its path or URL."""
    if isinstance(database, DedupSettings):
        return with_changes(database, **_of(DedupSettings, given))
    from dedup.store.urls import url_of

    return DedupSettings(database_url=url_of(os.fspath(database)), **_of(DedupSettings, given))


def _of(kind: type[RuleSettings], given: Rules) -> dict[str, Any]:
    """Return the settings that were given; raise TypeError for a name that none has."""
    names = kind.names()
    for name in given:
        if name not in names:
            raise TypeError(unknown_rule(name, names))
    return dict(given)


def _require_pairs(texts: object, name: str, *, of_one: str) -> None:
    """Refuse what can be gone through, and would give other things than its texts to the function of a name."""
    table = f"{name}(zip(frame['url'], frame['text']))"
    _require_many(texts, "texts", of_one=f"{name}({of_one})", of_table=table)
    if isinstance(texts, Mapping):
        raise TypeError(f"expected many texts, not one {type(texts).__name__}: {name}(texts.items())")


def _require_many(given: object, what: str, *, of_one: str, of_table: str) -> None:
    """Refuse a lone string and a table, whose items are others than they seem; name the call to write."""
    line = ""
    if isinstance(given, str | bytes):
        line = of_one
    elif hasattr(given, "columns"):
        line = f"{of_table}, with the names of your columns"
    if line:
        raise TypeError(f"expected many {what}, not one {type(given).__name__}: {line}")


def _require_key(name: str, key: object) -> str:
    if isinstance(key, str):
        return key
    line = "key.decode()" if isinstance(key, bytes) else "str(key)"
    raise TypeError(f"{name} is of type {type(key).__name__}, expected a string: {line}")


def _require_text(name: str, text: object, kind: Any = str) -> None:
    if not isinstance(text, kind):
        raise TypeError(f"{name} is of type {type(text).__name__}, expected a string")


def _in_memory(texts: Iterable[object], rules: RuleSettings) -> Iterator[Decision]:
    pairs = iter(
        (str(number), each) if isinstance(each, str) else _pair(number, each, str, "a string or a pair")
        for number, each in enumerate(texts)
    )
    with tempfile.TemporaryDirectory(prefix="dedup-") as folder:
        if native and isinstance(texts, Sized) and len(texts) >= _MANY:
            from dedup.corpus.texts import decide_texts

            yield from decide_texts(pairs, rules, Path(folder))
            return
        with Deduplicator(_of_crawl(rules, f"sqlite:///{folder}/texts.db")) as deduplicator:
            for pair in pairs:
                yield from deduplicator.decide_all([pair], separate=True)


def _of_crawl(rules: RuleSettings, database_url: str) -> DedupSettings:
    given = {each.name: getattr(rules, each.name) for each in fields(rules)}
    return DedupSettings(database_url=database_url, **given)


def _in_database(texts: Iterable[object], settings: DedupSettings) -> Iterator[Decision]:
    pairs = (_pair(number, given, str) for number, given in enumerate(texts))
    # Read before the database is made: what is refused leaves no file.
    batch = list(islice(pairs, settings.batch_size))
    with Deduplicator(settings) as deduplicator:
        while batch:
            yield from deduplicator.decide_all(batch, separate=True)
            batch = list(islice(pairs, settings.batch_size))


def _pair(number: int, given: object, kind: Any, expected: str = "a pair") -> tuple[str, Any]:
    """Return a key and a text, which is of a kind; raise TypeError for all else."""
    match given:
        case str():
            raise TypeError(f"text {number}: what a database remembers needs a key: give pairs of key and text")
        case (found, text):
            key = _require_key(f"text {number}: the key", found)
            _require_text(f"text {number}: the text", text, kind)
            return key, text
    missing = "; drop rows without a text first" if given is None or given != given else ""  # noqa: PLR0124 -- NaN
    raise TypeError(f"text {number}: expected {expected} of key and text, not {type(given).__name__}{missing}")
