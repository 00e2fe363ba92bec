"""Texts in which a scheme finds no feature: their fingerprints are all the same, and tell nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dedup import DedupSettings, Mode, Verdict, find_scheme
from dedup.cli.main import main
from dedup.corpus.batches import sign_one
from dedup.corpus.deciding import CorpusDeduplicator
from dedup.corpus.index import SavedIndex
from dedup.corpus.index_tools import Query
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.decision import Decision
from dedup.rules.documents import Document
from dedup.rules.pairwise import PairDecider
from dedup.rules.rule import Rule
from dedup.sql.schema import documents, to_unsigned
from tests.commands import run_dedup
from tests.deciding import Crawl
from tests.saved_indexes import rows_in
from tests.texts import chinese, chinese_words, document, edited

_LATIN = "abcdefghijklmnopqrstuvwxyz"
_SCRIPTS = {
    "Cyrillic": "абцдефгхийклмнопярстувшьыз",
    "Korean": "가나다라마바사아자차카타파하거너더러머버서어저처커터",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنه",
    "Thai": "กขคงจฉชซญดตถทธนบปผพฟมยรลวศ",
}
SCHEMES = ["yanyiwu", "go", "textrank", "tfidf/rank/jenkins/64/tie1"]


def in_script(text: str, script: str = "Cyrillic") -> str:
    """Return a text in other letters."""
    return text.translate(str.maketrans(_LATIN, _SCRIPTS[script]))


UNRELATED = [in_script(document(200, number)) for number in range(20)]
COPY = in_script(edited(document(200, 3), 2))


def decided(texts: Sequence[str], url: str, **values: Any) -> list[Decision | None]:
    settings = DedupSettings(database_url=url, **values)
    scheme = find_scheme(settings.scheme)
    deduplicator = Deduplicator(settings)
    with closing(deduplicator.database):
        run = deduplicator.open_run("test")
        return deduplicator.decide([Document(str(n), scheme.signature(text)) for n, text in enumerate(texts)], run)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_unrelated_texts_are_kept(scheme: str, mode: Mode, tmp_path: Path) -> None:
    texts = [*UNRELATED, UNRELATED[3]]
    decisions = decided(texts, f"sqlite:///{tmp_path / 'dedup.db'}", scheme=scheme, mode=mode)
    verdicts = [decision and decision.verdict for decision in decisions]
    assert verdicts == [*[Verdict.NEW] * 20, Verdict.EXACT_DUPLICATE]


@pytest.mark.parametrize("script", _SCRIPTS)
def test_no_script_is_taken_for_copies(script: str, tmp_path: Path) -> None:
    texts = [in_script(document(200, number), script) for number in range(5)]
    decisions = decided(texts, f"sqlite:///{tmp_path / 'dedup.db'}", scheme="yanyiwu", mode=Mode.PAPER)
    assert {decision and decision.verdict for decision in decisions} == {Verdict.NEW}


def test_texts_with_features_are_looked_up_as_ever(tmp_path: Path) -> None:
    story = chinese_words(400)
    near = [*story[:200], *story[201:]]
    texts = [UNRELATED[0], chinese(story), chinese(near)]
    decisions = decided(texts, f"sqlite:///{tmp_path / 'dedup.db'}", scheme="yanyiwu", mode=Mode.PAPER)
    assert [decision and decision.original for decision in decisions] == [None, None, "1"]


@pytest.mark.parametrize("mode", Mode)
def test_they_stand_in_no_table_whatever_becomes_of_them(mode: Mode, tmp_path: Path) -> None:
    scheme = find_scheme("yanyiwu")
    crawl = Crawl(f"sqlite:///{tmp_path / 'dedup.db'}", scheme="yanyiwu", mode=mode)

    def see(key: str, text: str) -> Verdict:
        [decision] = crawl.see_all([Document(key, scheme.signature(text), len(text))])
        crawl.assert_consistent()
        assert decision is not None
        return decision.verdict

    with closing(crawl.database):
        story = chinese(chinese_words(400))
        assert see("a", UNRELATED[0]) is Verdict.NEW
        assert see("b", UNRELATED[0]) is Verdict.EXACT_DUPLICATE
        assert crawl.indexed() == {}
        # With features, and without them again; what was its copy is decided anew.
        assert see("a", story) is Verdict.UPDATED
        assert crawl.indexed().keys() == {"a"}
        assert see("c", story) is Verdict.EXACT_DUPLICATE
        assert see("a", UNRELATED[1]) is Verdict.UPDATED
        assert crawl.indexed() == {}
        assert see("c", story) is Verdict.NEW
        assert crawl.indexed().keys() == {"c"}
        [row] = crawl.query(documents.select().where(documents.c.key == "a"))
        assert to_unsigned(row.fingerprint) == scheme.without_features
        assert see("a", UNRELATED[2]) is Verdict.UPDATED


def test_the_log_says_it_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        decided(["too short", *UNRELATED], f"sqlite:///{tmp_path / 'dedup.db'}", scheme="textrank")
    [record] = caplog.records
    assert "'textrank' finds no feature in the text of 1" in record.getMessage()


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_files_and_pairs_are_decided_like_a_crawl(scheme: str, mode: Mode, tmp_path: Path) -> None:
    texts = [UNRELATED[3], UNRELATED[4], COPY, UNRELATED[3], chinese(chinese_words(300)), document(300)]
    values: dict[str, Any] = {"scheme": scheme, "mode": mode}
    crawled = decided(texts, f"sqlite:///{tmp_path / 'dedup.db'}", **values)
    with closing(CorpusDeduplicator(DedupSettings(**values), tmp_path)) as corpus:
        assert [corpus.decide_one(sign_one(str(n), text, scheme)) for n, text in enumerate(texts)] == crawled
    decider = PairDecider(DedupSettings(**values))
    first, *others = (find_scheme(scheme).signature(text) for text in texts)
    rules = [decider.decide(first, other).rule for other in others]
    assert rules[:3] == [Rule.NO_FEATURES, Rule.NO_FEATURES, Rule.SAME_TEXT]


def run_files(folder: Path, *arguments: str) -> str:
    done = run_dedup("files", "in.jsonl", "--processes", "1", *arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.slow
def test_a_run_over_files_keeps_them_and_says_so(mode: Mode, tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": text} for n, text in enumerate([*UNRELATED, UNRELATED[3], document(200)])]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "in.jsonl").write_text(lines, encoding="utf-8")
    printed = run_files(tmp_path, "--scheme", "yanyiwu", "--mode", mode.value, "--save-index", "index")
    assert "dropped     1 document   1 exact\n" in printed
    assert "21 documents without features of this scheme, compared exactly alone" in printed
    assert [row["indexed"] for row in rows_in(tmp_path / "index")] == [False] * 20 + [True]
    query = Query(SavedIndex(tmp_path / "index"))
    assert [found.key for found in query.like(find_scheme("yanyiwu").signature(UNRELATED[3]))] == ["3"]
    assert query.like(find_scheme("yanyiwu").signature(in_script(document(200, "another")))) == []
    assert main(["index", "verify", str(tmp_path / "index")]) == 0
    # A later run knows them by their texts.
    rows = [{"id": "again", "text": UNRELATED[5]}, {"id": "other", "text": in_script(document(200, "other"))}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    common = ("--scheme", "yanyiwu", "--mode", mode.value, "--dry-run", "--against", "index")
    assert "dropped     1 document   1 exact\n" in run_files(tmp_path, *common)


@pytest.mark.parametrize("mode", Mode)
def test_an_index_of_a_crawl_and_a_merged_one_leave_them_out(
    mode: Mode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    decided([UNRELATED[0], chinese(chinese_words(300))], url, scheme="yanyiwu", mode=mode)
    built, merged = tmp_path / "built", tmp_path / "merged"
    build = ["index", "build", "--database", url, "--scheme", "yanyiwu", "--mode", mode.value, "-o", str(built)]
    assert main(build) == 0
    assert main(["index", "merge", str(built), "-o", str(merged)]) == 0
    for folder in (built, merged):
        assert [row["indexed"] for row in rows_in(folder)] == [False, True]
    capsys.readouterr()


@pytest.mark.parametrize("scheme", ["textrank", "tfidf/rank/md5/128/tie1"])
@pytest.mark.parametrize("mode", Mode)
def test_an_explanation_says_it(
    mode: Mode, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sides = (f"text:{UNRELATED[0]}", f"text:{UNRELATED[1]}")
    assert main(["explain", *sides, "--scheme", scheme, "--mode", mode.value]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "verdict no duplicate" in printed
    assert "rule the scheme finds no feature in a text" in printed
    assert "brings A" not in printed
