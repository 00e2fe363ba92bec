"""`dedup explain` by schemes other than the usual one, and by the one that a database was made with."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from sqlalchemy import update

from dedup import DedupSettings, find_scheme
from dedup.cli.main import main
from dedup.ledger.deduplicator import Deduplicator
from dedup.rules.documents import Document
from dedup.rules.matcher import PairDecider
from dedup.sql.database import Database
from dedup.sql.schema import properties
from tests.report.test_explain import data, keep
from tests.texts import chinese, chinese_words, shingles

STORY = chinese(chinese_words(300))
OTHER = chinese([*chinese_words(290), *chinese_words(10, "other")])


def fill(path: Path, texts: dict[str, str], scheme: str) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{path}", scheme=scheme))
    run_id = deduplicator.open_run("run")
    for key, text in texts.items():
        deduplicator.decide([Document(key, find_scheme(scheme).signature(text), len(text))], run_id)
    deduplicator.database.close()


@pytest.mark.parametrize("name", ["words", "pairs"])
def test_signatures_are_those_of_the_scheme(name: str, tmp_path: Path) -> None:
    scheme = find_scheme(name)
    first, second = scheme.signature(STORY), scheme.signature(OTHER)
    content = data(tmp_path, f"text:{STORY}", f"text:{OTHER}", "--scheme", name)
    assert content["scheme"]["name"] == scheme.spec
    for side, signature in (("a", first), ("b", second)):
        assert content[side]["fingerprint"] == f"{signature.fingerprint:016x}"
    differing = first.fingerprint ^ second.fingerprint
    assert content["differing_bits"] == [bit for bit in range(64) if differing >> bit & 1]
    decision = PairDecider(DedupSettings()).decide(first, second)
    assert (content["rule"], content["distance"]) == (str(decision.rule), decision.distance)
    assert content["keys"] == {"tables": list(decision.tables), "bands": list(decision.bands)}
    # The words are those of the scheme too.
    ours, theirs = (shingles(signature.words.decode().replace("\n", " ")) for signature in (first, second))
    assert content["exact"]["shared"] == len(ours & theirs)


def test_a_bound_that_is_none_is_null(tmp_path: Path) -> None:
    assert data(tmp_path, "text:a", "text:b", "--set", "caution=eager")["settings"]["max_swapped"] is None


def test_pages_are_explained_by_the_scheme_and_the_tables_of_their_database(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", {"https://x/a": STORY, "https://x/b": OTHER}, "pairs")
    keep(tmp_path / "crawl.db", {"https://x/a": STORY})
    signature = find_scheme("pairs").signature(STORY)
    for options in (["https://x/a", f"text:{OTHER}"], ["--dropped", "https://x/b"]):
        content = data(tmp_path, *options)
        assert content["scheme"]["name"] == "pair-bigrams/one/mmh3/64"
        assert content["a"]["fingerprint"] == f"{signature.fingerprint:016x}"
        assert (content["a"]["origin"], content["verdict"]) == ("stored page", "near duplicate")
    # The file beside a stored page is analysed as that was.
    assert content["b"]["fingerprint"] == f"{find_scheme('pairs').signature(OTHER).fingerprint:016x}"
    assert data(tmp_path, "https://x/a", "a b", "--scheme", "pairs")["scheme"]["features"] == "pair-bigrams"


def test_database_of_a_scheme_that_is_not_known_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(tmp_path / "crawl.db", {"https://x/a": STORY}, "words")
    database = Database(f"sqlite:///{tmp_path / 'crawl.db'}")
    with database.write() as connection:
        connection.execute(
            update(properties).where(properties.c.name == "scheme").values(value="9:words/count/mmh3/64/s")
        )
    database.close()
    with contextlib.chdir(tmp_path):
        assert main(["explain", "https://x/a", "a b"]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("error: database sqlite:///crawl.db was made with scheme '9:words/count/mmh3/64/s', which")
    assert errors.count("\n") == 1
