"""A run over files from its beginning to its end."""
