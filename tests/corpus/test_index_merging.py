"""Merged indexes: every content once, nobody led by a copy, and whoever made it killed leaves the old one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.cli.main import main
from dedup.corpus.batches import sign_one
from dedup.corpus.deciding import CorpusDeduplicator
from dedup.corpus.index import SavedIndex, new_index
from dedup.corpus.index_tools import merge, verify
from dedup.rules.settings import DedupSettings, Mode
from dedup.rules.verification import belongs_to_cluster
from dedup.signature.signature import compare
from tests.saved_indexes import save_index
from tests.texts import document, edited

BASE = [document(120, f"base {i}") for i in range(2)]
# Chains that drift: the last of each is no copy of the first.
TEXTS = [*(edited(base, edits) for base in BASE for edits in (0, 2, 5, 9, 14)), "short", "..."]


@settings(max_examples=15)
@given(
    st.lists(st.lists(st.sampled_from(TEXTS), max_size=6), min_size=1, max_size=3),
    st.sampled_from(["checked", "paper"]),
)
def test_every_content_is_there_once_and_nothing_else(corpora: list[list[str]], mode: str) -> None:
    with TemporaryDirectory() as name:
        path = Path(name)
        for number, texts in enumerate(corpora):
            documents = [(f"{number}-{place}", text) for place, text in enumerate(texts)]
            save_index(path / str(number), documents, mode=Mode(mode))
        sources = [SavedIndex(path / str(number)) for number in range(len(corpora))]
        with new_index(path / "merged", sources[0].settings, force=False) as known:
            merged = merge(sources, known)
        assert verify(path / "merged") == sum(merged.added)
        saved = SavedIndex(path / "merged")
        stored = list(saved.documents())
        by_digest = {each.text_digest: (each, words, bands) for each, words, bands in stored}
        for number, source in enumerate(sources):
            for document, words, bands in source.documents():
                there, there_words, there_bands = by_digest[document.text_digest]
                # The first index that has a content gives it its key.
                assert int(there.key.partition("-")[0]) <= number
                assert there_words == words
                assert there_bands.tolist() == bands.tolist()
        for document, _, _ in stored:
            if document.leader_id is not None and mode == "checked":
                leader = stored[document.leader_id][0]
                assert belongs_to_cluster(compare(document.sketch, leader.sketch), saved.settings)


@pytest.mark.slow
def test_new_documents_against_a_merged_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, base in enumerate(BASE):
        save_index(tmp_path / str(number), [(f"{number}", base)])
    assert main(["index", "merge", str(tmp_path / "0"), str(tmp_path / "1"), "-o", str(tmp_path / "both")]) == 0
    (tmp_path / "new.txt").write_text(edited(BASE[1], 2), encoding="utf-8")
    arguments = ["files", str(tmp_path / "new.txt"), "--against", str(tmp_path / "both"), "--processes", "1"]
    assert main([*arguments, "--dropped", str(tmp_path / "dropped.jsonl")]) == 0
    capsys.readouterr()
    assert '"original": "1"' in (tmp_path / "dropped.jsonl").read_text(encoding="utf-8")


def test_a_process_that_is_killed_leaves_the_old_index(tmp_path: Path) -> None:
    save_index(tmp_path / "index", [("old", BASE[0])])
    with pytest.raises(KeyboardInterrupt), new_index(tmp_path / "index", DedupSettings(), force=True):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert verify(tmp_path / "index") == 1
    # What a kill -9 leaves is no hindrance, and is cleared away.
    left = tmp_path / ".index.partial"
    left.mkdir()
    with closing(CorpusDeduplicator(DedupSettings(), left)) as deduplicator:
        deduplicator.decide(sign_one("half", BASE[1], "words"))
        deduplicator.checkpoint()
    with new_index(tmp_path / "index", DedupSettings(), force=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert verify(tmp_path / "index") == 0
