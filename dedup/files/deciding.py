"""Signature to verdict for the documents of a corpus: the rules of `dedup.rules.matcher`, on documents known in arrays.

The verdicts are those that `Deduplicator` gives for the same documents in the same order, if every
document has a key of its own. Here a key is but a name: two records of one key are two documents, and
the second one may be a copy of the first, as any other. (In a crawl a key is a page, which is looked at
again; what a file said of a key before has been written already and cannot be taken back.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dedup.files.batches import Batch, Signatures, WordSource
from dedup.files.document_table import ROW, Block, DocumentTable, sketch_of
from dedup.files.key_map import NULL, KeyMap
from dedup.rules.decisions import Answer, Decision, decision_of
from dedup.rules.documents import Content, Match, StoredDocument, Verdict
from dedup.rules.matcher import Matcher
from dedup.rules.settings import Mode, RuleSettings
from dedup.rules.table import Rule

_COPIED = ("digest", "fingerprint", "minima", "shingles", "tokens")


def table_rows(signatures: NDArray[Any], indexed: NDArray[np.bool_] | bool) -> NDArray[Any]:
    """Return documents as rows of a `DocumentTable`, each the leader of its own cluster.

    Args:
        signatures: of the type `dedup.signature.signature.SIGNATURE`.
        indexed: whether they can be near-duplicates.
    """
    rows = np.zeros(len(signatures), ROW)
    for name in _COPIED:
        rows[name] = signatures[name]
    rows["leader"], rows["indexed"] = NULL, indexed
    return rows


class Related(NamedTuple):
    """A document that is a copy of one before it, or resembles one.

    Attributes:
        place: its place in the batch.
        decision: the decision on it.
        leader: the number of the leader of the cluster that it belongs to, or resembles.
        second: that of the second leader that it is a copy of, if there is one.
    """

    place: int
    decision: Decision
    leader: int
    second: int | None = None

    @classmethod
    def of(cls, signatures: Signatures, place: int, answer: Answer) -> Related | None:
        """Return what an answer says of a document by its place in a batch; None: it is neither."""
        match = answer.match
        if match is None:
            return None
        decision = decision_of(Verdict.NEW, _content(signatures, place), answer)
        return cls(place, decision, match.leader.id, None if match.second is None else match.second.id)


def _content(signatures: Signatures, place: int) -> Content:
    """Return what a document of a batch holds, but for its words."""
    row, size = signatures.rows[place], int(signatures.text_bytes[place])
    digest, fingerprint = row["digest"].tobytes(), int(row["fingerprint"])
    return Content(digest, fingerprint, sketch_of(row), bytes, text_bytes=size)


class Clusters:
    """Decides documents of a table, and says what belongs to what.

    Args:
        table: the documents.
        settings: how matches are decided.
        words: gives their words.
    """

    def __init__(self, table: DocumentTable, settings: RuleSettings, words: WordSource) -> None:
        self._matcher = Matcher(settings)
        self._table = table
        self._source = words

    def decide(
        self, number: int, candidates: list[int], signatures: Signatures, place: int, key: str
    ) -> Related | None:
        """Return what a document of the table is a duplicate of, or resembles, and have it belong to its cluster.

        Args:
            number: its number; all before it are decided.
            candidates: the numbers of those that it may be a duplicate of, the most similar first.
            signatures: those of its batch.
            place: its place there.
            key: what it is called.
        """
        content = _content(signatures, place)._replace(words=partial(self.words_of, number), key=key)
        answer = self._matcher.find_among(content, candidates, self)
        if answer.original is not None:
            self._table.rows["leader"][number] = answer.original.id
        return Related.of(signatures, place, answer)

    def drop_by_paper(self, number: int, original: int, signatures: Signatures, place: int) -> Related | None:
        """Have a document be a duplicate as in the paper's mode, in which no duplicate is found later."""
        match = self.match(original)
        self._table.rows["leader"][number], self._table.rows["indexed"][number] = match.leader.id, 0
        return Related.of(signatures, place, Answer(match, Rule.PAPER))

    def match(self, number: int) -> Match:
        """Return a document and the leader of its cluster."""
        member = self._table.stored(number)
        return Match(member if member.leader_id is None else self._table.stored(member.leader_id), member)

    def leader_of(self, number: int) -> int:
        """Return the number of the leader of a document's cluster, which may be its own."""
        return self._table.leader_of(number)

    def words(self, document: StoredDocument) -> bytes:
        """Return the words of a document; nothing where they were not kept."""
        return self.words_of(document.id)

    def words_of(self, number: int) -> bytes:
        """Return the words of a document by its number; nothing where they were not kept."""
        kept = self._table.words(number)
        return kept and self._source.words(kept)


class CorpusDeduplicator:
    """Decides documents one after the other.

    Args:
        settings: how matches are found and decided.
        folder: where is kept what does not stand in memory.
        words: gives the words of documents.
        known: documents that come before all others.

    Attributes:
        table: the documents of different contents that are known.
        recurred: how many documents have the content and the key of one of `known`.
    """

    def __init__(
        self, settings: RuleSettings, folder: Path, words: WordSource | None = None, known: Iterable[Block] = ()
    ) -> None:
        self._source = words or WordSource()
        self._is_paper, self._radius = settings.mode is Mode.PAPER, settings.radius
        self._fewest_tokens = settings.fewest_tokens
        self._needed = settings.limits
        with ExitStack() as stack:
            self.table = stack.enter_context(closing(DocumentTable(folder)))
            for block in known:
                self.table.extend(block)
            stack.pop_all()
        self._begun_with = len(self.table)
        self.recurred = 0
        self._keys = KeyMap(settings.keys)
        self._clusters = Clusters(self.table, settings, self._source)
        rows = self.table.rows
        self._keys.add_many(rows["fingerprint"], self.table.bands(), rows["indexed"])

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the documents take, with their keys."""
        return self.table.nbytes + self._keys.nbytes

    def decide(self, batch: Batch) -> list[Related]:
        """Decide the documents of a batch, one after the other, and know them from now on.

        Args:
            batch: the documents, and their signatures.

        Returns:
            Those that are duplicates or similar to others, in their order; all others are new.
        """
        numbers, originals, comparable = self._enter(batch)
        decide = self._decide_by_paper if self._is_paper else self._decide
        return [related for related in decide(batch, numbers, originals, comparable) if related is not None]

    def decide_one(self, batch: Batch) -> Decision:
        """Decide a batch of one document, new or not, and know it from now on."""
        for related in self.decide(batch):
            return related.decision
        return Decision(Verdict.NEW, text_bytes=int(batch.signatures.text_bytes[0]))

    def words_of(self, number: int) -> bytes:
        """Return the words of a document by its number; nothing where they were not kept."""
        return self._clusters.words_of(number)

    def close(self) -> None:
        """Close the files."""
        self._source.close()
        self.table.close()

    def _enter(self, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Know the documents of a batch that have new contents.

        Returns:
            Numbers and originals, as `DocumentTable.reserve` does; and which documents can be near-duplicates.
        """
        signatures = batch.signatures.rows
        numbers, originals = self.table.reserve(signatures["digest"], np.logical_or(*signatures["digest"].T))
        comparable = signatures["tokens"] >= self._fewest_tokens
        entered = np.flatnonzero(numbers != NULL)
        has_words = comparable[entered] & (not self._is_paper)
        kept = batch.kept_words(entered)
        block = Block(
            table_rows(signatures[entered], comparable[entered]),
            [batch.keys[place].encode() for place in entered.tolist()],
            [words if is_kept else b"" for words, is_kept in zip(kept, has_words.tolist(), strict=True)],
            signatures["bands"][entered],
        )
        self.table.commit(block)
        return numbers, originals, comparable

    def _decide(
        self, batch: Batch, numbers: NDArray[np.int64], originals: NDArray[np.int64], comparable: NDArray[np.bool_]
    ) -> Iterator[Related | None]:
        """Decide the documents of a batch that have a known content, or candidates."""
        signatures, table = batch.signatures.rows, self.table
        hashes = self._keys.hashes(signatures["fingerprint"], signatures["bands"])
        found = self._keys.find(hashes, numbers, comparable, table.rows["fingerprint"], table.sketches, self._needed)
        has_candidates = np.diff(found.ends, prepend=0) > 0
        for place in np.flatnonzero(has_candidates | (originals != NULL)).tolist():
            if (original := int(originals[place])) != NULL:
                yield self._copy(batch, place, original)
            else:
                candidates = found.of(place)
                key = batch.keys[place]
                yield self._clusters.decide(int(numbers[place]), candidates, batch.signatures, place, key)

    def _decide_by_paper(
        self, batch: Batch, numbers: NDArray[np.int64], originals: NDArray[np.int64], comparable: NDArray[np.bool_]
    ) -> Iterator[Related | None]:
        """Decide the documents of a batch one after the other: who is looked up depends on what was dropped."""
        rows = self.table.rows
        fingerprints, bands = batch.signatures.rows["fingerprint"], batch.signatures.rows["bands"]
        hashes = self._keys.hashes(fingerprints, bands)
        for place, (number, original) in enumerate(zip(numbers.tolist(), originals.tolist(), strict=True)):
            if original != NULL:
                yield self._copy(batch, place, original)
            if number == NULL:
                continue
            closest = NULL
            if comparable[place]:
                known, own = rows["fingerprint"], int(fingerprints[place])
                closest = self._keys.find_closest(number + 1, hashes[place], known, own, self._radius)
            if closest != NULL:
                yield self._clusters.drop_by_paper(number, closest, batch.signatures, place)
            self._keys.add(number, hashes[place], is_found=bool(rows["indexed"][number]))

    def _copy(self, batch: Batch, place: int, original: int) -> Related | None:
        """Note that a document has the content of an earlier one."""
        match = self._clusters.match(original)
        self.recurred += original < self._begun_with and match.member.key == batch.keys[place]
        rule = Rule.SAME_TEXT if batch.signatures.rows["tokens"][place] else Rule.SAME_BYTES
        return Related.of(batch.signatures, place, Answer(match, rule))
