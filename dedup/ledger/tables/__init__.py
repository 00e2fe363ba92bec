"""The permuted tables in the database, and the index in memory that follows it."""
