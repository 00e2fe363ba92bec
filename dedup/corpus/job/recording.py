"""What becomes of the documents of a run: written to its outputs, gathered by clusters, counted."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

from dedup.corpus.deciding.deciding import CorpusDeduplicator, Related
from dedup.corpus.job.job import Job
from dedup.corpus.reading.line_ranges import ReadMemory
from dedup.corpus.signing.batches import SignedBatch
from dedup.corpus.state import Checkpoint, Tally
from dedup.corpus.writing.tables import (
    Clusters,
    ClusterWriter,
    KeptWriter,
    Members,
    RejectedWriter,
    RelatedDocument,
    RelatedWriter,
    common_schema,
)

REPORTED = "report.jsonl"
"""What a report is made of, in the folder of the state: a line a document that is a copy, or similar."""


class Recorder:
    """Records what documents turned out to be.

    Args:
        job: its outputs.
        folder: the state of the run.
        saved: what it goes on from; None: begin anew.

    Attributes:
        tally: the counts.
    """

    def __init__(self, job: Job, folder: Path, saved: Checkpoint | None) -> None:
        self.tally = Tally() if saved is None else saved.tally
        self._clusters_path = job.outputs.get("clusters")
        self._memory = ReadMemory()
        outputs = {} if saved is None else saved.outputs
        kept = job.outputs.get("kept")
        with ExitStack() as stack:
            self._members = stack.enter_context(closing(Members(folder, 0 if saved is None else saved.members)))
            self._kept = kept and KeptWriter(kept, common_schema(job.files), outputs.get("kept"))
            if self._kept:
                stack.callback(self._kept.suspend)
            self._dropped, self._similar = (
                self._open_related(stack, job.outputs.get(name), outputs.get(name)) for name in ("dropped", "similar")
            )
            self._rejected_path = job.outputs.get("rejected")
            # Nothing may be left of a file that was empty and was removed when the run was killed.
            resume_at = outputs.get("rejected") or None
            self._rejected = self._rejected_path and RejectedWriter(self._rejected_path, resume_at)
            if self._rejected:
                stack.callback(self._rejected.suspend)
            # A report is made of both once all is decided, whether they are outputs or not.
            reported = folder / REPORTED if "report" in job.outputs else None
            self._reported = self._open_related(stack, reported, outputs.get("report"))
            self._open = stack.pop_all()

    def record(self, batch: SignedBatch, related: Iterable[Related]) -> None:
        """Record what was read; all documents but the duplicates among them are new, some of them similar to others."""
        for rejected in batch.rejected:
            self.tally.count_rejected(rejected.source, rejected.reason)
            if self._rejected:
                self._rejected.write(rejected.source, rejected.reason)
        for place, reason in batch.unanalysed.items():
            self.tally.count_unanalysed(batch.source(place), reason)
        is_new = np.ones(len(batch), np.bool_)
        tokens = batch.rows["tokens"]
        for place, decision, leader in related:
            document = RelatedDocument.of(batch.key(place), batch.source(place), decision)
            self._write(self._reported, document)
            if decision.verdict.is_duplicate:
                self._members.add(leader, document.key)
                if decision.outcome.joined is not None:
                    self._members.add(leader, decision.outcome.joined)
            if not decision.is_dropped:
                self.tally.count_related(decision)
                self._write(self._similar, document)
                continue
            is_new[place] = False
            self.tally.count_duplicate(decision, has_words=bool(tokens[place]))
            self._write(self._dropped, document)
        kept = np.flatnonzero(is_new)
        is_new[list(batch.unanalysed)] = False
        wordless, sizes = np.count_nonzero(tokens[is_new] == 0), batch.rows["text_bytes"][is_new]
        self.tally.count_new(len(sizes), int(wordless), int(sizes.sum()))
        if self._kept:
            self._kept.write_batch(batch, kept, self._memory)

    def write_clusters(self, deduplicator: CorpusDeduplicator) -> Clusters:
        """Write the clusters of all up to the last checkpoint; return them."""
        clusters = self._members.clusters(deduplicator.leaders_of)
        if self._clusters_path is not None:
            with ClusterWriter(self._clusters_path) as writer:
                for key, duplicates in zip(deduplicator.keys(clusters.leaders), clusters.keys(), strict=True):
                    writer.write(key, [key, *duplicates])
        return clusters

    def checkpoint_members(self) -> int:
        """Make safe who belongs to which cluster; return where to go on."""
        return self._members.checkpoint()

    def checkpoint_outputs(self) -> dict[str, int]:
        """Make safe what was written to the outputs; return where to go on, by what goes into them."""
        outputs = {
            "kept": self._kept,
            "dropped": self._dropped,
            "similar": self._similar,
            "rejected": self._rejected,
            "report": self._reported,
        }
        return {name: writer.checkpoint() for name, writer in outputs.items() if writer}

    def finish(self) -> None:
        """Give the outputs their names; a file of what was rejected is there only where something was."""
        for writer in (self._kept, self._dropped, self._similar, self._rejected, self._reported):
            if writer:
                writer.close()
        if self._rejected_path and not self.tally.rejected:
            self._rejected_path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close all files; what was not checkpointed is lost."""
        self._open.close()

    @staticmethod
    def _open_related(stack: ExitStack, path: Path | None, resume_at: int | None) -> RelatedWriter | None:
        if path is None:
            return None
        writer = RelatedWriter(path, resume_at)
        stack.callback(writer.suspend)
        return writer

    @staticmethod
    def _write(writer: RelatedWriter | None, document: RelatedDocument) -> None:
        if writer is not None:
            writer.write(document)
