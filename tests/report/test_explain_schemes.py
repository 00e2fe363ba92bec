"""`dedup explain` by schemes other than the usual one, and by the one that a database was made with."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from sqlalchemy import update

from dedup import DedupSettings, find_scheme
from dedup.cli.main import main
from dedup.ledger.deduplicator import Deduplicator
from dedup.published.features import keywords_of
from dedup.rules.documents import Document
from dedup.rules.pairwise import PairDecider
from dedup.sql.database import Database
from dedup.sql.schema import properties
from tests.report.test_explain import data, explained, keep
from tests.texts import chinese, chinese_words, document, edited, shingles

STORY = chinese(chinese_words(300))
OTHER = chinese([*chinese_words(290), *chinese_words(10, "other")])
SCHEMES = ["words", "pairs", "bigrams32", "bigrams64", "python64", "python128", "yanyiwu", "go", "go-listing"]
SCHEMES += ["textrank", "ferd-md5", "ferd-sha1", "words/log/xxh3/128"]


def fill(path: Path, texts: dict[str, str], scheme: str) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{path}", scheme=scheme))
    run_id = deduplicator.open_run("run")
    for key, text in texts.items():
        deduplicator.decide([Document(key, find_scheme(scheme).signature(text), len(text))], run_id)
    deduplicator.database.close()


@pytest.mark.parametrize("name", SCHEMES)
def test_signatures_are_those_of_the_scheme(name: str, tmp_path: Path) -> None:
    scheme = find_scheme(name)
    first, second = scheme.signature(STORY), scheme.signature(OTHER)
    content = data(tmp_path, f"text:{STORY}", f"text:{OTHER}", "--scheme", name)
    assert (content["scheme"]["name"], content["scheme"]["bits"]) == (scheme.spec, scheme.bits)
    for side, signature in (("a", first), ("b", second)):
        assert content[side]["fingerprint"] == f"{signature.fingerprint:0{scheme.bits // 4}x}"
    differing = first.fingerprint ^ second.fingerprint
    assert content["differing_bits"] == [bit for bit in range(scheme.bits) if differing >> bit & 1]
    decision = PairDecider(DedupSettings(), scheme).decide(first, second)
    assert (content["rule"], content["distance"]) == (str(decision.rule), decision.distance)
    assert content["radius"] == 3 * scheme.bits // 64
    # There are tables for one width alone.
    tables = list(decision.tables) if scheme.bits == 64 else None
    assert content["keys"] == {"tables": tables, "bands": list(decision.bands)}
    # The words are those of the scheme too.
    ours, theirs = (shingles(signature.words.decode().replace("\n", " ")) for signature in (first, second))
    assert content["exact"]["shared"] == len(ours & theirs)


@pytest.mark.parametrize("name", SCHEMES)
def test_features_are_told_with_their_weights_where_these_differ(name: str, tmp_path: Path) -> None:
    scheme = find_scheme(name)
    text = "面包新闻" if name in ("textrank", "yanyiwu", "go", "go-listing") else "ab ab cd"
    features = data(tmp_path, f"text:{text}", "text:x", "--scheme", name)["a"]["features"]
    if scheme.weights == "one":
        assert features is None
        return
    # Fewer than ten, so that all of them are told.
    assert 0 < len(features) < 10
    assert features == sorted(features, key=lambda feature: -feature["weight"])
    assert all(feature["weight_beside"] == 0 for feature in features)
    is_whole = all(isinstance(feature["weight"], int) for feature in features)
    assert is_whole == (scheme.weights == "count")


def test_a_bound_that_is_none_is_null(tmp_path: Path) -> None:
    assert data(tmp_path, "text:a", "text:b", "--set", "max_swapped=inf")["settings"]["max_swapped"] is None


def test_keywords_are_told_with_their_weights(tmp_path: Path) -> None:
    content = data(tmp_path, f"text:{STORY}", f"text:{OTHER}", "--scheme", "yanyiwu")
    weights = [feature["weight"] for feature in content["a"]["features"]]
    assert len(weights) == min(10, keywords_of(STORY))
    assert all(0 < weight < 1 for weight in weights)
    assert weights[0] > weights[-1]
    output = explained(tmp_path, f"text:{STORY}", f"text:{OTHER}", "--scheme", "yanyiwu", "--bits")
    assert f"   {weights[0]:.3f} " in output
    assert "scheme       yanyiwu = tfidf/rank/jenkins/64\n" in output


def test_of_equal_features_those_that_the_other_text_lacks_come_first(tmp_path: Path) -> None:
    content = data(tmp_path, "text:one two three", "text:one two four", "--scheme", "python64")
    assert [feature["name"] for feature in content["a"]["features"]] == ["three", "one", "two"]
    assert [feature["weight_beside"] for feature in content["b"]["features"]] == [0, 1, 1]


def test_white_space_and_broken_characters_in_features_can_be_seen(tmp_path: Path) -> None:
    output = explained(tmp_path, "text:ab\ncd e", "text:x", "--scheme", "bigrams/count/mmh3/64", "--bits")
    assert all(f"  {name}" in output for name in ("b\\n", "\\nc", "d␣", "␣e"))
    # Two of the three bytes of a character.
    assert "  \\xbd\\xa0\n" in explained(tmp_path, "text:你你好", "text:x", "--scheme", "ferd-md5", "--bits")


@pytest.mark.parametrize(("name", "rows"), [("bigrams32", [32]), ("python128", [64, 64]), ("ferd-sha1", [64, 64, 32])])
def test_wide_fingerprints_go_on_in_the_next_row(name: str, rows: list[int], tmp_path: Path) -> None:
    scheme = find_scheme(name)
    text, other = document(200), edited(document(200), 20)
    options = ("--scheme", name, "--bits", "--width", "80")
    lines = explained(tmp_path, f"text:{text}", f"text:{other}", *options).splitlines()
    shown = ["".join(line[13:].split()) for line in lines if line.startswith("simhash A")]
    assert [len(row) for row in shown] == rows
    assert int("".join(shown), 2) == scheme.signature(text).fingerprint
    marks = "".join(line.ljust(80)[13:] for line in lines if line.startswith("  differ"))
    distance = (scheme.signature(text).fingerprint ^ scheme.signature(other).fingerprint).bit_count()
    assert marks.count("^") == distance > 0
    assert any(line.startswith("keys shared  no tables (they hold 64 bits), ") for line in lines)


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


def test_features_are_not_made_up_where_they_are_not_made_of_words(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", {"https://x/a": STORY, "https://x/b": OTHER}, "yanyiwu")
    content = data(tmp_path, "--dropped", "https://x/b")
    assert content["b"]["origin"] == "stored words, its text is not stored"
    assert (content["b"]["features"], content["notes"]) == (None, [])
    assert content["diff"]["place_count"] > 0
    assert content["replaced"] is not None


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
