"""The permuted tables in the database."""
