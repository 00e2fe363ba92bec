"""Migrations: how a database of each version of the schema becomes one of the next; see `dedup.sql.migrating`.

They say all that they do themselves: what `dedup.sql.schema` says may be of a later version than theirs.
"""
