"""What deduplication sees of a project's items: their text and their key."""
