"""What a run over files is to do, and what it found."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dedup.corpus.reading.documents import ReadOptions
from dedup.corpus.reading.files import CorpusFile
from dedup.corpus.state.checkpoint import about_settings
from dedup.corpus.state.tally import Tally
from dedup.rules.settings import RuleSettings
from dedup.signature.signature import digest


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Attributes:
        files: what documents are read from.
        options: how documents are found in them.
        settings: how they are decided.
        outputs: where `kept`, `dropped`, `similar`, `clusters` and `report` are written, those that are wanted.
        state: the folder that an interrupted run goes on from; None: it cannot.
        processes: how many make signatures.
        limit: how many documents at most are read.
        checkpoint_seconds: how often the state is saved.
        against: a saved index, whose documents count as known.
        save_index: where one is written, once all is decided.
    """

    files: list[CorpusFile]
    options: ReadOptions
    settings: RuleSettings
    outputs: dict[str, Path]
    state: Path | None
    processes: int
    limit: int | None = None
    checkpoint_seconds: float = 30.0
    against: Path | None = None
    save_index: Path | None = None

    @property
    def about(self) -> dict[str, Any]:
        """What must be the same for an interrupted run to go on; all of it can be JSON."""
        inputs = [[file.name, file.size, Path(file.path).stat().st_mtime_ns] for file in self.files]
        return {
            "settings": about_settings(self.settings),
            "fields": asdict(self.options),
            # There may be a million of them.
            "inputs": digest(json.dumps(inputs).encode()).hex(),
            "outputs": {name: str(path) for name, path in self.outputs.items()},
            "limit": self.limit,
            "against": None if self.against is None else str(self.against),
            "save_index": None if self.save_index is None else str(self.save_index),
        }


@dataclass(frozen=True)
class Result:
    """What a run found.

    Attributes:
        tally: what became of the documents.
        largest: the leaders of the largest clusters, with their numbers of duplicates.
        memory_bytes: what the known documents took in memory at the end; None: that is not known.
        known: how many there were; None likewise.
    """

    tally: Tally
    largest: list[tuple[str, int]] = field(default_factory=list)
    memory_bytes: int | None = None
    known: int | None = None
