"""Errors of a database name the way out by their code, not by words that may be those of a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from dedup.errors import DatabaseError
from dedup.store.database import Database


def test_words_of_a_text_are_no_reason(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    broken = b"the disk is full, the door locked\xff".hex()
    with database.read() as connection, pytest.raises(DatabaseError) as caught, database._explained("read"):
        connection.execute(text(f"SELECT CAST(x'{broken}' AS TEXT)")).all()
    database.close()
    assert type(caught.value) is DatabaseError
    assert "the disk is full" in str(caught.value)
    assert "; " not in str(caught.value)


def test_damaged_schema_is_told_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = Database(f"sqlite:///{path}")
    with database.write() as connection:
        connection.execute(text("CREATE TABLE words (x)"))
    database.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE words", b"CREATE T\x8dBLE words"))
    for found in (Database(f"sqlite:///{path}", read_only=True), Database(f"sqlite:///{path}")):
        with pytest.raises(DatabaseError, match="the file is damaged"), found.read() as connection:
            connection.execute(text("SELECT * FROM words"))
        found.close()
