"""Version 2: pages are visited again, so visits are noted, earlier versions kept, and pages that are gone marked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = None

_SEEN = {
    "sqlite": "(julianday(fetched) - 2440587.5) * 86400.0",
    "postgresql": "EXTRACT(EPOCH FROM fetched)",
}


def upgrade() -> None:
    """Add what is missing; stored pages were visited when they were fetched."""
    moment = sa.DateTime(timezone=True)
    op.add_column("pages", sa.Column("gone", moment))
    op.create_table(
        "page_versions",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("url_digest", sa.LargeBinary(16), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("canonical", "title", "author", "date", "language", "description")),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("html", sa.LargeBinary, nullable=False),
        sa.Column("problem", sa.Text),
        sa.Column("fetched", moment, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("referrer", "run")),
        sa.Column("gone", moment),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("replaced", moment, nullable=False),
    )
    op.create_index("page_versions_url", "page_versions", ["url_digest", "id"])
    op.create_table(
        "visits",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("url_digest", sa.LargeBinary(16), nullable=False, unique=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("etag", "last_modified")),
        sa.Column("body_digest", sa.LargeBinary(16)),
        sa.Column("seen", sa.Float, nullable=False),
        sa.Column("run", sa.Text),
        sa.Column("gone", sa.Float),
        sa.Column("moved_to_digest", sa.LargeBinary(16)),
    )
    is_moving = sa.text("moved_to_digest IS NOT NULL AND gone IS NULL")
    op.create_index("visits_moving", "visits", ["moved_to_digest"], sqlite_where=is_moving, postgresql_where=is_moving)
    seen = _SEEN[op.get_bind().dialect.name]
    op.execute(
        "INSERT INTO visits (url_digest, url, depth, seen, run) "  # noqa: S608 -- one of the two constants above
        f"SELECT url_digest, url, depth, {seen}, run FROM pages ORDER BY id"
    )


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
