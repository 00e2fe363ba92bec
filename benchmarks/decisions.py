"""What a stored decision costs, and which copies it finds, among many documents: in SQLite and in PostgreSQL.

A database is filled with them at once, as it would be had they been decided one after the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import psutil
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, create_engine, func, insert, select, text, update

from benchmarks.processes import scratch_folder
from benchmarks.texts import EDITS, Texts, real_texts
from crawler.cluster import PostgresqlServer
from dedup.keys import MOST_READ
from dedup.rules.decisions import Decision
from dedup.rules.documents import Document
from dedup.rules.settings import DedupSettings
from dedup.rules.table import decide
from dedup.rules.two_texts import PairDecider
from dedup.signature.deflating import deflate
from dedup.signature.signature import BANDS, Signature, digest
from dedup.signature.signing import make_signature
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator
from dedup.store.key_table import KeyTable, Looked, fill_keys
from dedup.store.schema import documents, keys, texts, to_signed

_SIZES = (10_000, 100_000, 1_000_000)
_BATCH = 50
_LOOK_UPS = 100
# Of some edits the check confirms one copy in five.
NEW, COPIES = 1_000, 400 * len(EDITS)

_SETTLED = {"sqlite": ("ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"), "postgresql": ("VACUUM ANALYZE", "CHECKPOINT")}
_WRITTEN_OUT = {"sqlite": "PRAGMA wal_checkpoint(TRUNCATE)", "postgresql": "CHECKPOINT"}
_BYTES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}

SETTINGS = DedupSettings()
"""Those of the databases, but for where they are."""

_KEYS = SETTINGS.keys
_DOCUMENT = np.dtype([("digest", "V16"), ("fingerprint", "<u8"), ("sketch", "V80"), ("bands", "<u8", (BANDS,))])
_CHUNK = 500
_ROWS = 20_000
_FILL_WORDS = update(texts).where(texts.c.digest == bindparam("own_digest")).values(words=bindparam("own_words"))


@dataclass(frozen=True)
class Asked:
    """What is decided: other texts, and copies of stored ones, whose numbers are `originals`."""

    new: list[Signature]
    copies: list[Signature]
    originals: list[int]
    confirmed: list[bool]


@dataclass(frozen=True)
class _Target:
    """An empty database, and the process of its server; None: it has none."""

    kind: str
    url: str
    server: psutil.Process | None = None


class _Usage:
    """What this thread and the processes of a server have used so far."""

    def __init__(self, server: psutil.Process | None) -> None:
        self._own = time.thread_time()
        self._written = psutil.Process().io_counters().write_chars
        self._of_server: dict[int, tuple[float, int]] = {}
        for each in [] if server is None else [server, *server.children()]:
            with suppress(psutil.NoSuchProcess):  # some come and go
                times = each.cpu_times()
                self._of_server[each.pid] = (times.user + times.system, each.io_counters().write_chars)

    def since(self, before: _Usage) -> tuple[float, float, int]:
        """Return CPU seconds of this thread and of the server, and bytes that both have written."""
        server, written = 0.0, self._written - before._written
        for pid, (seconds, nbytes) in self._of_server.items():
            seconds_before, nbytes_before = before._of_server.get(pid, (0.0, 0))
            server += seconds - seconds_before
            written += nbytes - nbytes_before
        return self._own - before._own, server, written


def run(*, data: Path, n: list[int] | None = None, databases: list[str] | None = None) -> dict[str, Any]:
    """Fill databases in bulk, decide further texts and edited copies of stored ones, and print what that takes.

    Args:
        data: a labelled set, whose texts the others are made of.
        n: among how many documents; by default 1e4, 1e5 and 1e6. 1e7 takes some hours and tens of GB.
        databases: sqlite, postgresql or both, the default.

    Returns:
        The figures.

    Raises:
        InputError: the folder holds no labelled set.
        ValueError: there is nothing to measure.
    """
    sizes, kinds = sorted(n or _SIZES), databases or ["sqlite", "postgresql"]
    if sizes[0] < 1 or not set(kinds) <= set(_SETTLED):
        raise ValueError(f"--n and --databases: expected numbers from 1 on, and {' or '.join(_SETTLED)}")
    rows = []
    with scratch_folder() as folder, ExitStack() as stack:
        server = stack.enter_context(closing(PostgresqlServer(folder / "server"))) if "postgresql" in kinds else None
        signing = stack.enter_context(closing(Signing(real_texts(data))))
        stored = signing.many(sizes[-1], folder)
        new = list(signing.texts(range(sizes[-1], sizes[-1] + NEW)))
        print(_heading())
        for size in sizes:
            asked = _ask(signing, new, size)
            print(_confirmed_line(asked))
            for kind in kinds:
                target = _target(kind, folder, server, size)
                rows.append(_measure(target, signing, stored[:size], asked))
                print(_line(rows[-1]), flush=True)
                for path in folder.glob("index.db*"):
                    path.unlink()
    return {"new": NEW, "copies": COPIES, "batch": _BATCH, "rows": rows}


def _ask(signing: Signing, new: list[Signature], size: int) -> Asked:
    # All over what is stored: the earliest documents of a crowded key are those that are read.
    originals = [place * size // COPIES for place in range(COPIES)]
    copies = list(signing.copies(originals))
    confirmed = [_is_confirmed(*each) for each in zip(signing.texts(originals), copies, strict=True)]
    return Asked(new, copies, originals, confirmed)


def _is_confirmed(original: Signature, copy: Signature) -> bool:
    pair = PairDecider(SETTINGS).pair(original, copy)
    # What shares no key is a copy all the same, which the search misses.
    pair.keys = None
    return decide(pair).is_duplicate


def _target(kind: str, folder: Path, server: PostgresqlServer | None, size: int) -> _Target:
    if kind == "sqlite" or server is None:
        return _Target(kind, f"sqlite:///{folder / 'index.db'}")
    lines = (folder / "server" / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    return _Target(kind, server.url(f"n{size}"), psutil.Process(int(lines[0])))


def _measure(target: _Target, signing: Signing, stored: NDArray[Any], asked: Asked) -> dict[str, Any]:
    with closing(Deduplicator(replace(SETTINGS, database_url=target.url))) as deduplicator:
        database = deduplicator.database
        run_id = deduplicator.open_run("benchmark")
        started = time.monotonic()
        empty = _bytes_of(database)
        fill(database, stored, run_id)
        nbytes = _bytes_of(database) - empty
        fill_words(database, signing.texts(may_meet(stored, [*asked.new, *asked.copies]).tolist()))
        for statement in _SETTLED[target.kind]:
            _run_alone(database, statement)
        seconds = time.monotonic() - started
        with database.read() as connection:
            looked_up = [look_up(connection, each) for each in (*asked.new[:_LOOK_UPS], *asked.copies[:_LOOK_UPS])]
        # Copies first: the first of them loads what compares words, which few of the others need.
        copies, of_copies = _decide(deduplicator, target, run_id, "copy", asked.copies)
        new, of_new = _decide(deduplicator, target, run_id, "new", asked.new)
    dropped = [each is not None and each.verdict.is_duplicate for each in copies]
    right = [
        is_dropped and each is not None and each.original == key_of(original)
        for is_dropped, each, original in zip(dropped, copies, asked.originals, strict=True)
    ]
    return {
        "database": target.kind,
        "documents": len(stored),
        "fill_seconds": seconds,
        "new": of_new,
        "copy": of_copies,
        "rows": mean(each.rows for each in looked_up),
        "most_rows": max(each.rows for each in looked_up),
        "candidates": mean(each.candidates for each in looked_up),
        "confirmed": _by_edit(asked.confirmed),
        "recall": _by_edit(right, asked.confirmed),
        "wrong": sum(each is not None and each.verdict.is_duplicate for each in new) + sum(dropped) - sum(right),
        "bytes_a_document": nbytes / len(stored),
    }


def _decide(
    deduplicator: Deduplicator, target: _Target, run_id: int, name: str, signatures: Sequence[Signature]
) -> tuple[list[Decision | None], dict[str, float]]:
    """Decide documents in micro-batches; return the decisions, and milliseconds and bytes that each took."""
    documents = [Document(f"{name} {place}", each, 1) for place, each in enumerate(signatures)]
    # The first batch prepares statements.
    decisions = deduplicator.decide(documents[:_BATCH], run_id)
    _run_alone(deduplicator.database, _WRITTEN_OUT[target.kind])
    before = _Usage(target.server)
    for first in range(_BATCH, len(documents), _BATCH):
        decisions += deduplicator.decide(documents[first : first + _BATCH], run_id)
    own, of_server, _ = _Usage(target.server).since(before)
    _run_alone(deduplicator.database, _WRITTEN_OUT[target.kind])
    _, _, written = _Usage(target.server).since(before)
    count = len(documents) - _BATCH
    return decisions, {
        "ms": 1000 * own / count,
        "server_ms": 1000 * of_server / count,
        "bytes_written": written / count,
    }


def _run_alone(database: Database, statement: str) -> None:
    """Run a statement outside of any transaction."""
    engine = create_engine(database.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def _bytes_of(database: Database) -> int:
    with database.read() as connection:
        return int(connection.scalar(text(_BYTES[connection.dialect.name])) or 0)


def _by_edit(right: Sequence[bool], counted: Sequence[bool] | None = None) -> dict[str, float]:
    """Return by edit which share of the copies that count, by default all, is right."""
    pairs = np.array([right, counted or [True] * len(right)])
    shares = {}
    for place, edit in enumerate(EDITS):
        of_edit, count = pairs[:, place :: len(EDITS)]
        shares[edit] = float((of_edit & count).sum() / max(1, count.sum()))
    return shares


def _heading() -> str:
    """Return the head of the table."""
    edits = [edit.replace(" of the words", " words").replace(" by a fifth", "") for edit in EDITS]
    names = ["CPU ms: new", "copy", "server's", "rows", "candidates", *edits, "wrong", "bytes each", "kB written"]
    return f"{'':12}{'documents':>12}" + "".join(f"{name:>12}" for name in names)


def _confirmed_line(asked: Asked) -> str:
    shares = "".join(f"{share:>12.3f}" for share in _by_edit(asked.confirmed).values())
    return f"{'':24}{'copies that the check confirms':>60}{shares}"


def _line(row: dict[str, Any]) -> str:
    new, copy = row["new"], row["copy"]
    cells = [
        f"{new['ms']:.2f}",
        f"{copy['ms']:.2f}",
        f"{new['server_ms']:.2f}" if new["server_ms"] else "-",
        f"{row['rows']:,.0f}",
        f"{row['candidates']:,.0f}",
        *(f"{share:.3f}" for share in row["recall"].values()),
        f"{row['wrong']}",
        f"{row['bytes_a_document']:,.0f}",
        f"{new['bytes_written'] / 1000:,.0f}",
    ]
    return f"{row['database']:12}{row['documents']:>12,}" + "".join(f"{cell:>12}" for cell in cells)


class LookedUp(NamedTuple):
    """What a look-up costs: how many rows of the keys it reads, and how many documents they bring."""

    rows: int
    candidates: int


class Signing:
    """Makes the signatures of texts in as many processes as there are cores.

    Args:
        real: the texts that the others are made of.
    """

    def __init__(self, real: Sequence[str]) -> None:
        self._pool = ProcessPoolExecutor(os.cpu_count(), initializer=_prepare, initargs=(real,))

    def many(self, count: int, folder: Path) -> NDArray[Any]:
        """Return what is stored of the texts 0 to count - 1, in a file of a folder: it need not fit in memory."""
        found = np.memmap(folder / "documents", _DOCUMENT, "w+", shape=(count,))
        start = 0
        for part in self._pool.map(_sign, range(0, count, _CHUNK)):
            size = min(len(part), count - start)
            found[start : start + size] = part[:size]
            start += size
        return found

    def texts(self, numbers: Iterable[int]) -> Iterator[Signature]:
        """Yield the signatures of texts."""
        left = iter(numbers)
        # In portions: what is done before it is taken waits in memory.
        while some := list(islice(left, _ROWS)):
            yield from self._pool.map(_sign_text, some, chunksize=20)

    def copies(self, numbers: Iterable[int]) -> Iterator[Signature]:
        """Yield the signatures of copies of texts, the edits in turn."""
        return self._pool.map(_sign_copy, enumerate(numbers), chunksize=20)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()


_texts: list[Texts] = []


def _prepare(real: Sequence[str]) -> None:
    _texts[:] = [Texts(real)]


def _sign(start: int) -> NDArray[Any]:
    found = np.zeros(_CHUNK, _DOCUMENT)
    for place in range(_CHUNK):
        signature = _sign_text(start + place)
        found[place] = (
            signature.text_digest,
            signature.fingerprint,
            signature.sketch.to_bytes(),
            signature.bands,
        )
    return found


def _sign_text(number: int) -> Signature:
    return make_signature(_texts[0].text(number))


def _sign_copy(numbered: tuple[int, int]) -> Signature:
    place, number = numbered
    return make_signature(_texts[0].copy(number, EDITS[place % len(EDITS)]))


def may_meet(stored: NDArray[Any], asked: Sequence[Signature]) -> NDArray[np.int64]:
    """Return the numbers of the stored documents that share keys with some others."""
    bits = np.array([each.fingerprint for each in asked], np.uint64)
    wanted = _KEYS.of(bits, np.stack([each.bands for each in asked]))
    found = []
    for start in range(0, len(stored), _ROWS):
        some = stored[start : start + _ROWS]
        keys = _KEYS.of(np.ascontiguousarray(some["fingerprint"]), some["bands"])
        shares = [np.isin(keys[:, number], wanted[:, number]) for number in range(_KEYS.count)]
        found.append(start + np.flatnonzero(np.logical_or.reduce(shares)))
    return np.concatenate(found)


def look_up(connection: Connection, signature: Signature) -> LookedUp:
    """Look a document up as a decision does, and count."""
    table = KeyTable(_KEYS)
    [own] = table.keys_of([Looked(signature.fingerprint, signature.bands, 0)])
    rows = 0
    for number, value in enumerate(own):
        number_is, value_is = keys.c.number == number, keys.c.value == value
        of_key = select(keys.c.text_id).where(number_is, value_is)
        rows += connection.scalar(select(func.count()).select_from(of_key.limit(MOST_READ).subquery())) or 0
    with table.batch(connection, [own]):
        return LookedUp(rows, len(table.find(connection, own)))


def fill(database: Database, stored: NDArray[Any], run_id: int) -> None:
    """Write documents with their keys, text number n with the id n + 1, into a new database of a `Deduplicator`."""
    for start in range(0, len(stored), _ROWS):
        numbers = range(start, min(start + _ROWS, len(stored)))
        with database.write() as connection:
            connection.execute(insert(texts), list(_texts_of(stored, numbers)))
            connection.execute(insert(documents), list(_documents_of(numbers, run_id)))
    ids = np.arange(len(stored), dtype=np.int64) + 1
    fill_keys(database, _KEYS, ids, np.ascontiguousarray(stored["fingerprint"]), stored["bands"])


def fill_words(database: Database, signatures: Iterable[Signature]) -> None:
    """Write the words of some of the documents."""
    left = iter(signatures)
    while some := list(islice(left, _CHUNK)):
        rows = [{"own_digest": each.text_digest, "own_words": deflate(each.words)} for each in some]
        with database.write() as connection:
            connection.execute(_FILL_WORDS, rows)


def key_of(number: int) -> str:
    """Return the key of a stored document."""
    return f"text {number}"


def _texts_of(stored: NDArray[Any], numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield {
            "id": number + 1,
            "digest": stored["digest"][number].tobytes(),
            "fingerprint": to_signed(int(stored["fingerprint"][number])),
            "sketch": stored["sketch"][number].tobytes(),
            "indexed": 1,
        }


def _documents_of(numbers: Iterable[int], run_id: int) -> Iterator[dict[str, Any]]:
    for number in numbers:
        key = key_of(number)
        yield {
            "id": number + 1,
            "key": key,
            "key_digest": digest(key.encode()),
            "text_bytes": 0,
            "text_id": number + 1,
            "first_run_id": run_id,
            "last_run_id": run_id,
            "content_run_id": run_id,
        }
