"""The rules by which documents are compared and decided: pure functions that know neither a database nor files."""
