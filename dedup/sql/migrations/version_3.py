"""Version 3: documents name the run that brought what they hold, so that a run can be taken back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = None

# A copy that was seen again does not say whether its text was another one: then it is taken to have been, and
# when that run is cancelled, the copy is decided anew.
_CONTENT_RUN = """
UPDATE dedup_documents SET content_run_id = COALESCE(
    (SELECT run_id FROM dedup_verdicts WHERE document_id = dedup_documents.id AND verdict <> 'unchanged'
     ORDER BY id DESC LIMIT 1), last_run_id)
"""


def upgrade() -> None:
    """Add the run, as the verdicts tell it."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("dedup_documents", sa.Column("content_run_id", number))
    op.execute(_CONTENT_RUN)
    with op.batch_alter_table("dedup_documents") as documents:
        documents.alter_column("content_run_id", existing_type=number, nullable=False)
        documents.create_foreign_key("dedup_documents_content_run_id_fkey", "dedup_runs", ["content_run_id"], ["id"])
