"""Version 4: keepers, scopes, the journal of the tables, brakes, spaces, notes of what was not decided.

Some of it came while the version was 3 already: what is there stays.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"

_FIRST_RUN = """
UPDATE dedup_documents SET first_run_id = COALESCE(
    (SELECT MIN(run_id) FROM dedup_verdicts WHERE document_id = dedup_documents.id), last_run_id)
"""


def upgrade() -> None:
    """Add what is missing."""
    if _add_columns("dedup_documents", sa.Column("first_run_id", _id())):
        op.execute(_FIRST_RUN)
        with op.batch_alter_table("dedup_documents") as documents:
            documents.alter_column("first_run_id", existing_type=_id(), nullable=False)
    _add_columns(
        "dedup_documents",
        sa.Column("given_digest", sa.LargeBinary(16)),
        sa.Column("space", sa.Text, nullable=False, server_default=""),
        sa.Column("canonical_digest", sa.LargeBinary(16)),
        sa.Column("redirected", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("keeper_id", _id()),
        sa.Column("exported_id", _id()),
    )
    _add_columns("dedup_verdicts", sa.Column("kept", sa.Text), sa.Column("batch", sa.BigInteger))
    op.drop_index("dedup_documents_leader", "dedup_documents")
    op.create_index("dedup_documents_leader", "dedup_documents", ["leader_id", "canonical_digest"])
    for name, table, column in (
        ("dedup_documents_given", "dedup_documents", "given_digest"),
        ("dedup_verdicts_original", "dedup_verdicts", "original_id"),
        ("dedup_verdicts_matched", "dedup_verdicts", "matched_id"),
    ):
        is_some = sa.text(f"{column} IS NOT NULL")
        op.create_index(name, table, [column], sqlite_where=is_some, postgresql_where=is_some, if_not_exists=True)
    _create_tables()
    op.execute(
        "INSERT INTO dedup_properties (name, value) SELECT 'scope', 'all' "
        "WHERE NOT EXISTS (SELECT 1 FROM dedup_properties WHERE name = 'scope')"
    )


def _create_tables() -> None:
    op.create_table(
        "dedup_index_changes",
        sa.Column("sequence", _id(), primary_key=True),
        sa.Column("stamp", sa.BigInteger, nullable=False),
        sa.Column("document_id", sa.BigInteger, nullable=False),
        sa.Column("fingerprint", sa.BigInteger, nullable=False),
        sa.Column("added", sa.SmallInteger, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "dedup_hosts",
        _run_id(primary_key=True),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("documents", sa.Integer, nullable=False),
        sa.Column("duplicates", sa.Integer, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "dedup_brakes",
        _run_id(primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name_digest", sa.LargeBinary(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("documents", sa.Integer, nullable=False),
        sa.Column("duplicates", sa.Integer, nullable=False),
        sa.Column("raised", sa.Float, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "dedup_unexamined",
        _run_id(primary_key=True),
        sa.Column("item_class", sa.Text, primary_key=True),
        sa.Column("reason", sa.Text, primary_key=True),
        sa.Column("fields", sa.Text, nullable=False),
        sa.Column("items", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "dedup_skipped",
        sa.Column("id", _id(), primary_key=True),
        _run_id(),
        sa.Column("key_digest", sa.LargeBinary(16), nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("referrer", sa.Text, nullable=False),
        sa.UniqueConstraint("run_id", "key_digest"),
    )


def _add_columns(table: str, *columns: sa.Column[object]) -> bool:
    """Add those columns that are missing; say whether any was."""
    known = {each["name"] for each in sa.inspect(op.get_bind()).get_columns(table)}
    missing = [each for each in columns if each.name not in known]
    for each in missing:
        op.add_column(table, each)
    return bool(missing)


def _run_id(*, primary_key: bool = False) -> sa.Column[int]:
    foreign = sa.ForeignKey("dedup_runs.id")
    return sa.Column("run_id", _id(), foreign, primary_key=primary_key, autoincrement=False, nullable=False)


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
