"""A deduplicator that is shown documents, and its database as it lies there."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import func, select, update

from dedup.rules.documents import Decision, Document, Rule
from dedup.rules.settings import DedupSettings, Mode
from dedup.rules.verification import check, is_comparable, is_near_leader, is_thin, keys_of
from dedup.signature.signature import Signature, Sketch, compare, digest
from dedup.signature.signing import bands_of_words, make_signature
from dedup.store import schema
from dedup.store.deduplicator import Deduplicator

signature_of = cache(make_signature)


class Crawl:
    """A deduplicator and a run, and its database as it lies there."""

    def __init__(self, url: str, **values: Any) -> None:
        self.settings = DedupSettings(database_url=url, **values)
        self.deduplicator = Deduplicator(self.settings)
        self.run = self.deduplicator.open_run("test")
        self.database = self.deduplicator.database

    def see(self, key: str, content: str | None = None, body: bytes | None = None) -> Decision:
        """Decide one document; without `content` it is known by its bytes."""
        (decision,) = self.see_all([self.document(key, content, body)])
        assert decision is not None
        return decision

    def show(self, key: str, text: str, size: int = 100, **values: Any) -> Decision:
        """Decide one document of which more is known."""
        return self.see_signed(key, signature_of(text), size, **values)

    def see_signed(self, key: str, signature: Signature, size: int = 100, **values: Any) -> Decision:
        """Decide one document by its signature."""
        [decision] = self.deduplicator.decide([Document(key, signature, size, **values)], self.run)
        assert decision is not None
        return decision

    def see_all(self, documents: list[Document]) -> list[Decision | None]:
        """Decide documents in one batch, and return verdicts and reasons, without the sizes of the texts."""
        decisions = self.deduplicator.decide(documents, self.run)
        return [decision and replace(decision, text_bytes=0) for decision in decisions]

    @staticmethod
    def document(key: str, content: str | None, body: bytes | None = None) -> Document:
        return Document(
            key,
            None if content is None else signature_of(content),
            len((content or "").encode()),
            None if body is None else digest(body),
        )

    def next_run(self, name: str = "next") -> None:
        """Begin another run, or go on with one of before."""
        self.run = self.deduplicator.open_run(name)

    def reopen(self, run: str = "test", *, after: str | None = None) -> None:
        """Go on in another process, after the run has ended in order, or (None) was killed."""
        if after is not None:
            self.deduplicator.close_run(self.run, after)
        self.deduplicator.close()
        self.deduplicator = Deduplicator(self.settings)
        self.database = self.deduplicator.database
        self.next_run(run)

    def query(self, statement: Any) -> list[Any]:
        with self.database.read() as connection:
            return list(connection.execute(statement))

    def count(self, table: Any) -> int:
        return int(self.query(select(func.count()).select_from(table))[0][0])

    def verdicts(self) -> list[Any]:
        """Return the rows of all verdicts, in their order."""
        return self.query(select(schema.verdicts).order_by(schema.verdicts.c.id))

    def stored(self) -> dict[str, Any]:
        """Return the rows by their keys; those of a key that others have too, in another space, by key and id."""
        rows: dict[str, Any] = {}
        for row in self.query(select(schema.documents).order_by(schema.documents.c.id)):
            rows[f"{row.key} #{row.id}" if row.key in rows else row.key] = row
        return rows

    def indexed(self) -> dict[str, int]:
        """Return the fingerprint of every document that has keys, after a look at all its keys."""
        stored, words = self.stored(), self.words()
        names = {row.id: key for key, row in stored.items()}
        found: dict[str, dict[int, int]] = {}
        for row in self.query(select(schema.fingerprints)):
            own = found.setdefault(names[row.document_id], {})
            assert row.number not in own, "two keys of one number"
            own[row.number] = schema.to_unsigned(row.value)
        keys, fingerprints = keys_of(self.settings), {}
        for key, own in found.items():
            row = stored[key]
            fingerprint = schema.to_unsigned(row.fingerprint)
            mask = self.deduplicator.scopes.mask(row.key, row.space)
            bands = bands_of_words(words.get(row.text_digest, b"")) ^ np.uint64(mask)
            [expected] = keys.of(np.array([fingerprint ^ mask], np.uint64), bands[np.newaxis]).tolist()
            if is_thin(Sketch.from_bytes(bytes(row.sketch)), words.get(row.text_digest, b"")):
                # Its bands are those of the text that was found, and the words those of all its page.
                expected = expected[: self.settings.tables.table_count]
            assert expected == [own[number] for number in range(len(expected))], f"{key} has other keys than its text"
            assert len(own) == keys.count
            fingerprints[key] = fingerprint
        return fingerprints

    def words(self) -> dict[bytes, bytes]:
        """Return the stored words by the digests of their texts."""
        return {row.text_digest: zlib.decompress(row.words) for row in self.query(select(schema.words))}

    def assert_consistent(self) -> None:
        """Check what holds in every database, whatever was seen."""
        stored, indexed = self.stored(), self.indexed()
        assert {key for key, row in stored.items() if row.indexed} == indexed.keys()
        by_id = {row.id: row for row in stored.values()}
        texts_indexed = [bytes(stored[key].text_digest) for key in indexed]
        words = self.words()
        if self.settings.mode is Mode.CHECKED:
            assert words.keys() == set(texts_indexed), "the words of other texts are stored than those in the tables"
        else:
            assert words == {}
        clusters: dict[bytes, int] = {}
        # Of those each is a document of its own.
        kept_apart = {Rule.SAME_SHORT_TEXT.short, Rule.OTHER_FIELDS.short}
        has_placeholders = any(each.rule in kept_apart for each in self.verdicts())
        for row in stored.values():
            sketch = Sketch.from_bytes(bytes(row.sketch))
            if row.leader_id is not None:
                leader = by_id[row.leader_id]
                assert leader.leader_id is None, "a leader is led by another"
                assert leader.id != row.id
                similarity = compare(sketch, Sketch.from_bytes(bytes(leader.sketch)))
                assert (
                    self.settings.mode is Mode.PAPER
                    or row.text_digest == leader.text_digest
                    or check(
                        words.get(row.text_digest, b""), words.get(leader.text_digest, b""), self.settings
                    ).rule.is_duplicate
                    or is_near_leader(similarity, self.settings)
                ), "a member is unlike its leader"
            is_wanted = is_comparable(sketch.tokens, self.settings)
            if row.text_digest is not None and sketch.tokens and not has_placeholders:
                cluster = clusters.setdefault(bytes(row.text_digest), row.leader_id or row.id)
                assert cluster == (row.leader_id or row.id), "one text is in two clusters"
            if row.text_digest is None:
                assert row.body_digest is None
                assert not row.indexed
            elif self.settings.mode is Mode.CHECKED or row.leader_id is None:
                times = texts_indexed.count(bytes(row.text_digest))
                assert times == is_wanted, f"a text of {sketch.tokens} tokens is in the tables {times} times"
            else:
                assert not row.indexed, "the paper's crawler forgets duplicates"


def empty(crawl: Crawl) -> None:
    """Make a crawl forget everything."""
    with crawl.database.write() as connection:
        of_documents = (schema.fingerprints, schema.words)
        of_runs = (schema.verdicts, schema.unexamined, schema.skipped)
        for table in (*of_documents, *of_runs):
            connection.execute(table.delete())
        connection.execute(update(schema.documents).values(leader_id=None))
        for table in (schema.documents, schema.runs):
            connection.execute(table.delete())
    crawl.run = crawl.deduplicator.open_run("test")
