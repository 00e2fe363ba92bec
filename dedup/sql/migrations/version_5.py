"""Version 5: verdicts name the rule that decided; of those of before it is not known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5"
down_revision = "4"


def upgrade() -> None:
    """Add the rule, empty."""
    op.add_column("dedup_verdicts", sa.Column("rule", sa.Text))
