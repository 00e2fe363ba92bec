"""Saved indexes for the tests, made in this process, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from dedup.corpus.deciding.deciding import CorpusDeduplicator
from dedup.corpus.saved.folder import complete
from dedup.corpus.saved.reader import SavedIndex
from dedup.corpus.signing.signing import sign
from dedup.corpus.state.checkpoint import Checkpoint, about_settings
from dedup.corpus.state.tally import Tally
from dedup.rules.settings import DedupSettings
from dedup.signature.schemes import find_scheme


def save_index(folder: Path, documents: Iterable[tuple[str, str | bytes]], **values: Any) -> Path:
    """Make an index as `dedup files --save-index` does, of keys and texts, or pages where they are bytes."""
    settings = DedupSettings(**values)
    folder.mkdir()
    with closing(CorpusDeduplicator(settings, folder)) as deduplicator:
        for key, content in documents:
            deduplicator.decide(sign(key, content, find_scheme(settings.scheme).spec))
        lengths = deduplicator.checkpoint()
    about = {"settings": about_settings(settings)}
    Checkpoint(about, None, lengths, members=0, outputs={}, tally=Tally(), is_read=True).save(folder)
    complete(folder)
    return folder


def held(folder: Path) -> dict[str, tuple[str | None, bool, bytes]]:
    """Return leader, whether it is in the tables, and words by key; keys are unique here."""
    with closing(SavedIndex(folder)) as saved:
        rows = {
            document.key: (
                None if document.leader_id is None else saved.key(document.leader_id),
                document.indexed,
                saved.words(document.id),
            )
            for document, _, _ in saved.documents()
        }
        assert len(rows) == len(saved)
    return rows
