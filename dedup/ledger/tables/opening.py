"""The index that the settings ask for."""

from __future__ import annotations

from pathlib import Path

from dedup.index.probes import ProbePlan
from dedup.index.protocol import Index
from dedup.ledger.tables.permuted import SqlIndex
from dedup.rules.settings import DedupSettings, IndexKind
from dedup.signature.schemes import find_scheme
from dedup.sql.database import Database


def open_index(plan: ProbePlan, settings: DedupSettings, database: Database) -> Index:
    """Open the index of a database: its permuted tables, or tables in memory that follow them.

    Args:
        plan: how far around a fingerprint is looked.
        settings: which index, its file, and how the fingerprints are made.
        database: where the tables are.

    Raises:
        DatabaseError: the database cannot be read.
    """
    if settings.index is IndexKind.SQL:
        return SqlIndex(plan)
    # numba takes time and memory to load.
    from dedup.ledger.tables.following import FollowingIndex  # noqa: PLC0415

    return FollowingIndex(plan, find_scheme(settings.scheme).name, database, _file(settings, database))


def _file(settings: DedupSettings, database: Database) -> Path | None:
    if settings.index_file:
        return Path(settings.index_file)
    return Path(f"{database.url.database}.index") if database.is_sqlite else None
