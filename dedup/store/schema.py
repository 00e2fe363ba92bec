"""The tables of the database: texts, their keys, documents, verdicts, runs.

What one item writes:

- the first of a run, a row of `dedup_runs`;
- a document that is new, a row of `dedup_documents`; one that was seen before changes its own;
- a text that nobody had, a row of `dedup_texts`, and, if it is found by keys from now on, one of `dedup_keys` a key;
- a decision, a row of `dedup_verdicts`, unless a run that was killed meets again what it had decided;
- until an item that is kept is stored, a row of `dedup_under_way`;
- where it is not examined, or skipped, one more in the counts of the run.

All columns are the same on SQLite and PostgreSQL. Fingerprints are unsigned in code and signed in
SQL; `to_signed` and `to_unsigned` convert.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    event,
)

SCHEMA_VERSION = 6

LAST_REMOVED = "last removed document"
"""The property that says the greatest id of the documents that were removed; 0: none was."""

# SQLite gives out row numbers by itself only to a column declared INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()

properties = Table(
    "dedup_properties",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    comment="what this database was made with: version, scheme, table design, scope, mode",
)

runs = Table(
    "dedup_runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    Column("outcome", Text),
    # Whether its duplicates were passed on, and marked.
    Column("mark_only", Integer, nullable=False, server_default="0"),
    comment="one crawl or one batch; times are seconds since 1970",
    # Who is still at work on a run that was cancelled must not write to the next one.
    sqlite_autoincrement=True,
)

texts = Table(
    "dedup_texts",
    metadata,
    Column("id", Id, primary_key=True),
    # Of text and scope: the same text in two scopes is two.
    Column("digest", LargeBinary(16), nullable=False, unique=True),
    Column("fingerprint", BigInteger, nullable=False),
    Column("sketch", LargeBinary(80), nullable=False),
    # Of its scope, see `dedup.rules.scope.Scopes.mask`; it is mixed into its keys.
    Column("mask", BigInteger, nullable=False, server_default="0"),
    # Whether its keys are stored: short texts have none, nor have those that no document holds any more.
    Column("indexed", Integer, nullable=False),
    # As a signature has them, deflated; only of what is indexed.
    Column("words", LargeBinary),
    comment="each text once, whichever documents hold it",
)

documents = Table(
    "dedup_documents",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", Text, nullable=False),
    # Of the key that it came under.
    Column("key_digest", LargeBinary(16), nullable=False),
    # What tells its content from that of others that came under its key before; empty: it was the first.
    Column("variant", Text, nullable=False, server_default=""),
    Column("item_class", Text, nullable=False, server_default=""),
    # Documents of different spaces never meet: those of one spider, or of one run.
    Column("space", Text, nullable=False, server_default=""),
    # What it is called, for people; empty: nobody knows.
    Column("title", Text, nullable=False, server_default=""),
    # The short fields of an item, see `dedup.rules.other_fields`.
    Column("fields", Text, nullable=False, server_default=""),
    # Of the fields, where there are any: very many items may have one text.
    Column("fields_digest", LargeBinary(8)),
    Column("body_digest", LargeBinary(16)),
    Column("text_bytes", Integer, nullable=False),
    # None: it is undecided until it is seen again, as the original that it was a duplicate of has changed, or is gone.
    Column("text_id", Id, ForeignKey("dedup_texts.id")),
    # What an undecided document held, for reports.
    Column("former_text_id", Id, ForeignKey("dedup_texts.id")),
    Column("leader_id", Id, ForeignKey("dedup_documents.id")),
    # Whether a person has made it an original, and it was not seen since.
    Column("released", Integer, nullable=False, server_default="0"),
    Column("first_run_id", Id, nullable=False),
    Column("last_run_id", Id, ForeignKey("dedup_runs.id"), nullable=False),
    # The run that stored what it holds now; when that is cancelled, its content is forgotten.
    Column("content_run_id", Id, ForeignKey("dedup_runs.id"), nullable=False),
    UniqueConstraint("key_digest", "variant", "item_class", "space"),
    comment="one row a key, item class and space, and more where several texts come under it; a duplicate names the "
    "leader of its cluster, an original none",
)
Index("dedup_documents_body", documents.c.body_digest, documents.c.id)
Index("dedup_documents_text", documents.c.text_id, documents.c.id)
Index("dedup_documents_leader", documents.c.leader_id)

keys = Table(
    "dedup_keys",
    metadata,
    Column("number", SmallInteger, primary_key=True, autoincrement=False),
    Column("value", BigInteger, primary_key=True, autoincrement=False),
    Column("text_id", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
    comment="the keys of texts: prefixes of permuted fingerprints, and bands; see dedup.keys",
)

verdicts = Table(
    "dedup_verdicts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("dedup_runs.id"), nullable=False),
    Column("document_id", Id, ForeignKey("dedup_documents.id"), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("original_id", Id, ForeignKey("dedup_documents.id")),
    Column("matched_id", Id, ForeignKey("dedup_documents.id")),
    Column("second_id", Id, ForeignKey("dedup_documents.id")),
    Column("distance", SmallInteger),
    Column("similarity", Float),
    # What decided: the short name of a `dedup.rules.table.Rule`; none for what an earlier decision had settled.
    Column("rule", Text),
    # What a near-duplicate says that nothing stored does: words, and their bytes in UTF-8.
    Column("lost", Integer),
    Column("lost_bytes", Integer),
    # In how many places each of the two says what the other does not.
    Column("places", Integer),
    Column("decided", Float, nullable=False),
    comment="one row a decision; original: the leader of the cluster that it belongs to, or, where it is no "
    "duplicate, that it resembles; matched: the member that it was found by; second: "
    "another leader that it is a copy of, too. The same text "
    "again under its own key, in the same process and run, was found by itself",
)

under_way = Table(
    "dedup_under_way",
    metadata,
    Column("document_id", Id, ForeignKey("dedup_documents.id", ondelete="CASCADE"), primary_key=True),
    # See `dedup.store.processes`.
    Column("process", Text, nullable=False),
    Column("since", Float, nullable=False),
    comment="originals that were passed on, and that nobody is known to have stored yet",
)

unexamined = Table(
    "dedup_unexamined",
    metadata,
    Column("run_id", Id, ForeignKey("dedup_runs.id"), primary_key=True, autoincrement=False),
    Column("item_class", Text, primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("fields", Text, nullable=False),
    Column("items", BigInteger, nullable=False),
    comment="how many items of a class a run did not examine, and why; fields: the names of what they have",
)

skipped = Table(
    "dedup_skipped",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("dedup_runs.id"), nullable=False),
    Column("key_digest", LargeBinary(16), nullable=False),
    Column("key", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("referrer", Text, nullable=False),
    Column("fetched", Boolean, nullable=False),
    UniqueConstraint("run_id", "key_digest"),
    comment="pages that a run did not decide, why, where they are linked from; fetched: whether they were asked for",
)

erased = Table(
    "dedup_erased",
    metadata,
    Column("digest", LargeBinary(16), primary_key=True),
    Column("at", Float, nullable=False),
    comment="digests of the keys, texts and bytes of documents that were erased, and when: what has one is dropped",
)

_SIGN_BIT = 1 << 63
_ALL_BITS = (1 << 64) - 1


def _index_of_some(name: str, *columns: Column[Any]) -> None:
    """Index those rows that have a value in a column, the last of these, where most have none."""
    index = Index(name, *columns)

    @event.listens_for(metadata, "before_create")
    def leave_out_null(_metadata: MetaData, connection: Connection, **_: Any) -> None:
        # Where both databases are named in advance, SQLAlchemy loads both, which takes a fifth of the stage's start.
        index.dialect_options[connection.dialect.name]["where"] = columns[-1].is_not(None)


_index_of_some("dedup_documents_fields", documents.c.text_id, documents.c.fields_digest)
_index_of_some("dedup_documents_former", documents.c.former_text_id)

Index("dedup_verdicts_run", verdicts.c.run_id, verdicts.c.verdict)
Index("dedup_verdicts_document", verdicts.c.document_id)
# Without them, a database looks through all verdicts for every document that is removed.
_index_of_some("dedup_verdicts_original", verdicts.c.original_id)
_index_of_some("dedup_verdicts_matched", verdicts.c.matched_id)
_index_of_some("dedup_verdicts_second", verdicts.c.second_id)


def to_signed(unsigned: int) -> int:
    """Return the signed 64-bit number with the same bits."""
    return unsigned - (1 << 64) if unsigned & _SIGN_BIT else unsigned


def to_unsigned(signed: int) -> int:
    """Return the unsigned 64-bit number with the same bits."""
    return signed & _ALL_BITS
