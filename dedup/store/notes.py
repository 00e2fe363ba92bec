"""Notes on what a run did not decide: items that were not examined, and pages that were skipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, exists, func, select

from dedup.signature.normalise import clean
from dedup.store.database import Database, insert_into
from dedup.store.document_rows import key_digest, require_run
from dedup.store.schema import documents, runs, skipped, unexamined, verdicts

# Names of classes and reasons are part of a key, and what an index holds is limited.
_LONGEST_NAME = 200
ROWS_AT_ONCE = 1_000

EXEMPT = "exempt, as DEDUP_TEXT_FIELD says"
"""Why items were not examined that the settings exempt."""

Unexamined = tuple[str, Sequence[str], str, int]
"""Item class, the fields that the items have, why they were not examined, and how many they were."""


class Skipped(NamedTuple):
    """A page that was skipped.

    Attributes:
        key: its key; in a crawl its URL.
        reason: why, in a word or two, such as `not found`.
        detail: more of it, such as the status; empty: none.
        referrer: the key of the page that it is linked from; empty: none.
        is_fetched: whether it was asked for.
    """

    key: str
    reason: str
    detail: str = ""
    referrer: str = ""
    is_fetched: bool = True


def note_unexamined(database: Database, run_id: int, noted: Iterable[Unexamined]) -> None:
    """Add to how many items of each class a run did not examine, by reasons; the latest fields stay."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for item_class, fields, reason, count in noted:
        names = clean(item_class)[:_LONGEST_NAME], clean(reason)[:_LONGEST_NAME]
        row = {"run_id": run_id, "item_class": names[0], "reason": names[1], "fields": clean(", ".join(fields))}
        rows[names] = row | {"items": count + rows.get(names, {"items": 0})["items"]}
    if rows:
        with database.write() as connection:
            require_run(connection, run_id)
            statement = insert_into(unexamined, connection.dialect.name)
            added = statement.excluded
            counts = {"items": unexamined.c["items"] + added["items"], "fields": added.fields}
            statement = statement.on_conflict_do_update(index_elements=list(unexamined.primary_key), set_=counts)
            connection.execute(statement, list(rows.values()))


def note_skipped(database: Database, run_id: int, noted: Iterable[Skipped]) -> None:
    """Note pages that a run skipped; of a page that was noted before in this run the latest reason is kept."""
    rows = {}
    for each in noted:
        digest = key_digest(each.key)
        rows[digest] = {
            "run_id": run_id,
            "key_digest": digest,
            "key": clean(each.key),
            "reason": clean(each.reason),
            "detail": clean(each.detail),
            "referrer": clean(each.referrer),
            "fetched": each.is_fetched,
        }
    if rows:
        with database.write() as connection:
            require_run(connection, run_id)
            statement = insert_into(skipped, connection.dialect.name)
            latest = {name: statement.excluded[name] for name in ("reason", "detail", "referrer", "fetched")}
            keys = [skipped.c.run_id, skipped.c.key_digest]
            connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=latest), list(rows.values()))


def read_skipped_keys(database: Database, reason: str, most: int) -> list[str]:
    """Return the keys of what runs have skipped for a reason, the last ones."""
    query = select(skipped.c.key).where(skipped.c.reason == reason).order_by(skipped.c.id.desc()).limit(most)
    with database.read() as connection:
        return list(connection.scalars(query)) if connection.dialect.has_table(connection, skipped.name) else []


def forget_decided(database: Database, run_id: int) -> None:
    """Forget what was noted as skipped and has got a verdict since in the same run, as where a process died between."""
    is_decided = exists().where(
        documents.c.key_digest == skipped.c.key_digest,
        verdicts.c.document_id == documents.c.id,
        verdicts.c.run_id == run_id,
    )
    with database.write() as connection:
        connection.execute(delete(skipped).where(skipped.c.run_id == run_id, is_decided))


def remove_some_notes(connection: Connection, run_id: int) -> int:
    """Delete some of what was noted of a run; return how much, 0 where nothing is left."""
    connection.execute(delete(unexamined).where(unexamined.c.run_id == run_id))
    some = select(skipped.c.id).where(skipped.c.run_id == run_id).limit(ROWS_AT_ONCE)
    return connection.execute(delete(skipped).where(skipped.c.id.in_(some))).rowcount


def summarise(database: Database) -> tuple[int, int, int, float | None]:
    """Return how many documents a database holds, of how many runs, how many of them ended, and since when.

    About how many: those that were removed since are counted, too. Runs are told in seconds since 1970, None: none.
    """
    with database.read() as connection:
        # A row with the largest id is found at once; rows are hardly ever removed.
        last = connection.scalar(select(func.max(documents.c.id))) or 0
        counts = select(func.count(), func.count(runs.c.finished), func.min(runs.c.started)).select_from(runs)
        count, ended, first = connection.execute(counts).one()
    return last, count, ended, first
