"""Migrations of the tables of pages; see `dedup.sql.migrating`."""
