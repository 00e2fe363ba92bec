"""The rules by which documents are compared and decided: pure functions, which know no database."""
