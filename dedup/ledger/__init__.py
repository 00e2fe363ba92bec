"""What the database remembers: documents, clusters, verdicts and runs, and how a document is decided by it."""
