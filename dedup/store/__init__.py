"""The database: documents, clusters, verdicts and runs, and how a document is decided by them.

Who is given a connection is called inside a transaction, a writing one where something is written; who is given a
database begins transactions itself, and raises what `dedup.store.database.Database` raises in them.
"""
