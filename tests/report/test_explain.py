"""`dedup explain` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from dedup import DedupSettings, find_scheme, make_signature, similarity
from dedup.keys import TableDesign
from dedup.rules.documents import Document
from dedup.rules.table import Rule
from dedup.rules.two_texts import PairDecider
from dedup.store.database import Database
from dedup.store.deduplicator import Deduplicator
from dedup.store.schema import properties
from tests.commands import run_dedup, run_in_process
from tests.crawls import store_pages
from tests.texts import CHINESE, ENGLISH, chinese, chinese_words, document, edited, extended, shingles

ORIGINAL = "https://news.example/story"
NEAR = "https://news.example/%E6%B8%AF?copy"
EXACT = "https://news.example/exact"
BY_MEMBER = "https://news.example/by-member"
TEXT = document(200)
NEAR_TEXT = edited(TEXT, 3)
STORY = chinese(chinese_words(300))
OTHER = chinese([*chinese_words(290), *chinese_words(10, "other")])
WITHIN_3_BITS = next(text for seed in range(100) if similarity(TEXT, text := edited(TEXT, 1, seed)).distance <= 3)
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\x9b31m"


def explained(folder: Path, *options: str) -> str:
    done = run_dedup("explain", *options, folder=folder)
    assert (done.stderr, done.returncode) == ("", 0)
    assert all(letter.isprintable() for letter in done.stdout.replace("\n", ""))
    return done.stdout


def data(folder: Path, *options: str) -> dict[str, Any]:
    done = run_dedup("explain", *options, "--json", folder=folder)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.isascii()
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def measured(content: dict[str, Any]) -> dict[str, float]:
    return {each["name"]: each["value"] for each in content["measures"]}


def missed(content: dict[str, Any]) -> list[str]:
    return [each["name"] for each in content["measures"] if not each["is_met"]]


def fill(path: Path, rounds: Sequence[dict[str, str]], **settings: Any) -> None:
    """Decide documents in the runs `run 0`, `run 1` and so on."""
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{path}", **settings))
    sign = partial(make_signature, scheme=find_scheme(settings.get("scheme", "words")))
    for number, texts in enumerate(rounds):
        run_id = deduplicator.open_run(f"run {number}")
        for key, text in texts.items():
            deduplicator.decide([Document(key, sign(text), len(text))], run_id)
    deduplicator.database.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `crawl.db`, as a crawl leaves it, and without anything else."""
    folder = tmp_path_factory.mktemp("crawled")
    fill(folder / "crawl.db", [{ORIGINAL: TEXT, EXACT: TEXT, NEAR: NEAR_TEXT}])
    store_pages(f"sqlite:///{folder / 'crawl.db'}", {ORIGINAL: TEXT})
    return folder


def test_two_files_are_told_in_full(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.txt").write_text(NEAR_TEXT, encoding="utf-8")
    output = explained(tmp_path, "a.txt", "b.txt", "--bits")
    lines = output.splitlines()
    assert lines[0] == "verdict       near duplicate: B is dropped because of A"
    assert lines[1] == "rule          most of the text is the same"
    first, second = (make_signature(text).fingerprint for text in (TEXT, NEAR_TEXT))
    [shown_first, shown_second, marks] = (
        next(line for line in lines if line.startswith(label)).ljust(82)[14:]
        for label in ("simhash A", "simhash B", "  differ")
    )
    assert int(shown_first.replace(" ", ""), 2) == first
    assert int(shown_second.replace(" ", ""), 2) == second
    differing = [one != other for one, other in zip(shown_first, shown_second, strict=True)]
    assert [mark == "^" for mark in marks] == differing
    assert sum(differing) == (first ^ second).bit_count()
    decision = similarity(TEXT, NEAR_TEXT)
    shared = f"{len(decision.tables)} of 10 tables, {len(decision.bands)} of 24 bands"
    assert f"keys shared   {shared}" in lines
    assert f"distance      {decision.distance} bits, beyond the radius of 3" in lines
    assert "what differs  3 places: 3 of 200 tokens of A, 3 of 200 of B" in lines
    # What is of bits is shown behind everything else, to those who ask for it.
    assert output.startswith(explained(tmp_path, "a.txt", "b.txt"))


@pytest.mark.parametrize("name", ["words", "pairs"])
@pytest.mark.parametrize(("a", "b"), [(TEXT, NEAR_TEXT), (STORY, OTHER)])
def test_json_has_the_numbers_of_the_decision_by_the_scheme(name: str, a: str, b: str, tmp_path: Path) -> None:
    scheme = find_scheme(name)
    first, second = make_signature(a, scheme), make_signature(b, scheme)
    decision = PairDecider(DedupSettings()).decide(first, second)
    content = data(tmp_path, f"text:{a}", f"text:{b}", "--scheme", name)
    assert (content["verdict"], content["is_certain"]) == ("near duplicate", True)
    assert content["scheme"]["name"] == scheme.spec
    assert [content[side]["fingerprint"] for side in "ab"] == [f"{each.fingerprint:016x}" for each in (first, second)]
    differing = first.fingerprint ^ second.fingerprint
    assert content["differing_bits"] == [bit for bit in range(64) if differing >> bit & 1]
    assert (content["reason"], content["distance"]) == (str(decision.rule), decision.distance)
    assert content["keys"] == {"tables": list(decision.tables), "bands": list(decision.bands)}
    assert content["estimated"]["jaccard"] == decision.similarity.jaccard
    # The words are those of the scheme too.
    ours, theirs = (shingles(each.words.decode().replace("\n", " ")) for each in (first, second))
    shared = len(ours & theirs)
    assert measured(content)["min_jaccard"] == shared / len(ours | theirs)


@pytest.mark.slow
def test_json_of_the_command_is_one_document(folder: Path) -> None:
    done = run_in_process("-m", "dedup", "explain", EXACT, "--json", cwd=folder)
    assert (done.stderr, done.returncode) == ("", 0)
    assert json.loads(done.stdout)["record"]["verdict"] == "exact duplicate"


def test_texts_that_share_no_key_say_so(tmp_path: Path) -> None:
    options = (f"text:{TEXT}", f"text:{document(200, 'far')}")
    content = data(tmp_path, *options)
    assert (content["reason"], content["keys"]) == (Rule.NO_KEY.says, {"tables": [], "bands": []})
    output = explained(tmp_path, *options, "--bits")
    assert "verdict       no duplicate: B is kept beside A\n" in output
    assert "rule          nothing in common" in output
    assert "keys shared   0 of 10 tables, 0 of 24 bands: A is not looked at\n" in output


def test_html_is_extracted_by_its_name_or_by_its_start(tmp_path: Path) -> None:
    page = f"<!-- x --> <html><body><nav>Menu</nav><article><p>{ENGLISH}</p><p>{ENGLISH}</p></article></body></html>"
    (tmp_path / "a.html").write_text(page.removeprefix("<!-- x --> <html>"), encoding="utf-8")
    (tmp_path / "b").write_text(page, encoding="utf-8")
    content = data(tmp_path, "a.html", "b")
    assert {content[side]["origin"] for side in "ab"} == {"file, the main text of its HTML"}
    assert (content["verdict"], content["diff"]["place_count"]) == ("exact duplicate", 0)
    assert content["a"]["tokens"] > 30


def test_words_differ_as_they_are_written(tmp_path: Path) -> None:
    output = explained(tmp_path, f"text:{CHINESE}", f"text:{CHINESE.replace('面包师傅', '老师')}")
    assert "[-面包师傅-] {+老师+}" in output
    output = explained(tmp_path, f"text:{TEXT}", f"text:{TEXT}.")
    assert "what differs  no token, only what stands between them" in output
    output = explained(tmp_path, f"text:{document(1000)}", f"text:{edited(document(1000), 30)}")
    assert "what differs  30 places: 30 of 1,000 tokens of A, 30 of 1,000 of B\n" in output
    assert output.count("{+") == 30


def test_mode_and_settings_change_the_verdict(tmp_path: Path) -> None:
    texts = (f"text:{TEXT}", f"text:{edited(TEXT, 8)}")
    assert data(tmp_path, *texts)["verdict"] == "near duplicate"
    strict = data(tmp_path, *texts, "--set", "MIN_JACCARD=.99", "--set", "DEDUP_caution=careful")
    assert (strict["verdict"], strict["reason"]) == ("similar", Rule.LESS_ALIKE.says)
    assert missed(strict) == ["min_jaccard", "min_containment"]
    assert strict["settings"]["min_jaccard"] == 0.99
    texts = (texts[0], f"text:{edited(TEXT, 60)}")
    paper = data(tmp_path, *texts, "--mode", "paper")
    assert (paper["verdict"], paper["reason"]) == ("new", Rule.TOO_FAR.says)
    assert (paper["keys"]["bands"], "bands" in explained(tmp_path, *texts, "--mode", "paper", "--bits")) == ([], False)
    short = explained(tmp_path, f"text:{ENGLISH}", f"text:{ENGLISH} Yes.", "--set", "TABLES=6 choose 3", "--bits")
    assert " of 20 tables, " in short
    assert "rule          short and mostly the same" in short
    # A bound that is none is null.
    assert data(tmp_path, "text:a", "text:b", "--set", "caution=eager")["settings"]["max_swapped"] is None
    shorter = data(tmp_path, f"text:{ENGLISH}", f"text:{ENGLISH} Yes.", "--set", "MIN_TOKENS=60")
    assert shorter["reason"].startswith("too short to compare")
    assert missed(shorter) == ["min_tokens"]
    # In the paper's mode no setting moves it.
    short = (f"text:{ENGLISH}", f"text:{ENGLISH} Yes.", "--mode", "paper")
    assert missed(data(tmp_path, *short)) == ["short_tokens"]
    assert "DEDUP_MIN_TOKENS" not in explained(tmp_path, *short)


def test_text_of_a_page_that_was_kept_before_it_was_dropped_is_not_taken(tmp_path: Path) -> None:
    fill(tmp_path / "x.db", [{ORIGINAL: TEXT, EXACT: document(200, "before")}, {EXACT: TEXT}])
    store_pages(f"sqlite:///{tmp_path / 'x.db'}", {ORIGINAL: TEXT, EXACT: document(200, "before")})
    content = data(tmp_path, EXACT, "--database", "x.db")
    assert (content["verdict"], content["record"]["run"]) == ("exact duplicate", "run 1")
    assert content["b"]["origin"] == "stored words, its text is not stored"
    assert content["diff"]["place_count"] == 0


def test_what_takes_words_that_are_not_stored_is_not_made_up(tmp_path: Path) -> None:
    near = WITHIN_3_BITS
    fill(tmp_path / "crawl.db", [{ORIGINAL: TEXT, NEAR: near}], mode="paper")
    content = data(tmp_path, f"text:{TEXT}", NEAR)
    assert content["b"]["origin"] == "stored fingerprint and sketch, its text is not stored"
    assert (content["measures"], content["diff"]) == ([], None)
    assert (content["verdict"], content["is_certain"], content["keys"]["bands"]) == ("near duplicate", True, None)
    assert "note          Neither text nor words of A and of B are stored" in explained(tmp_path, NEAR)
    assert data(tmp_path, NEAR)["reason"] == Rule.PAPER.says
    # Where the words decide, nobody knows.
    assert not data(tmp_path, f"text:{TEXT}", NEAR, "--mode", "checked")["is_certain"]
    output = explained(tmp_path, f"text:{TEXT}", NEAR, "--bits", "--mode", "checked")
    assert output.startswith("verdict       not known: it takes the words of both\n")
    assert "\nrule " not in output
    assert ", bands are not known\n" in output


def test_stored_and_dropped_pages_of_the_database(folder: Path) -> None:
    content = data(folder, ORIGINAL, f"text:{NEAR_TEXT}")
    assert content["a"]["origin"] == "stored page"
    assert (content["verdict"], content["diff"]["place_count"], content["notes"]) == ("near duplicate", 3, [])
    output = explained(folder, NEAR)
    assert output.startswith(
        "verdict       near duplicate: B is dropped because of A\nrule          most of the text is the same\n"
    )
    assert f"A             {ORIGINAL}\n              stored page; 200 tokens, 198 shingles\n" in output
    assert f"B             {NEAR}\n" in output
    assert ", run run 0\n" in output
    assert "              stored words, its text is not stored; 200 tokens, 198 shingles\n" in output
    assert "what differs  3 places: 3 of 200 tokens of A, 3 of 200 of B\n" in output
    assert " alike: most of the text is the same\n" in output
    assert "note" not in output
    # Nothing is left to reach.
    assert "missed" not in output
    # By the name that reports show.
    content = data(folder, "https://news.example/港?copy", "--database", f"sqlite:///{folder / 'crawl.db'}")
    record = content["record"]
    assert (record["original"], record["matched"], record["run"]) == (ORIGINAL, ORIGINAL, "run 0")
    assert record["distance"] == content["distance"]
    assert record["similarity"] == content["estimated"]["jaccard"]
    assert missed(content) == []


def test_dropped_page_that_was_found_by_another_member(tmp_path: Path) -> None:
    texts = [TEXT, extended(TEXT, 10), extended(extended(TEXT, 10), 8, "more")]
    fill(tmp_path / "crawl.db", [dict(zip((ORIGINAL, NEAR, BY_MEMBER), texts, strict=True))])
    content = data(tmp_path, BY_MEMBER)
    assert (content["record"]["original"], content["record"]["matched"]) == (ORIGINAL, NEAR)
    assert (content["a"]["name"], content["reason"]) == (NEAR, Rule.JACCARD.says)
    of_pair = data(tmp_path, f"text:{texts[1]}", f"text:{texts[2]}")
    assert measured(content) == measured(of_pair) | {
        "leader_jaccard": content["record"]["similarity"],
        "leader_containment": measured(content)["leader_containment"],
    }
    output = explained(tmp_path, BY_MEMBER)
    assert f"A             {NEAR}\n" in output
    assert f"original      {ORIGINAL}\n" in output
    assert "\nJaccard similarity to the original, estimated " in output


def test_why_a_copy_was_kept_is_told(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{ORIGINAL: TEXT, NEAR: f"{TEXT} {document(80, 'update')}"}])
    content = data(tmp_path, NEAR)
    assert (content["verdict"], content["reason"]) == ("similar", Rule.NEW_TEXT.says)
    assert content["notes"] == []


def test_what_was_only_marked_is_not_said_to_be_dropped(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{ORIGINAL: TEXT, NEAR: NEAR_TEXT}], mark_only=True)
    output = explained(tmp_path, NEAR)
    assert "near duplicate: B would be dropped because of A\n" in output
    assert "It was kept because nothing is dropped in this run" in output


def test_verdict_that_no_longer_follows_is_said_to_be_so(tmp_path: Path) -> None:
    fill(tmp_path / "crawl.db", [{ORIGINAL: TEXT, NEAR: NEAR_TEXT}, {ORIGINAL: document(200, "changed")}])
    content = data(tmp_path, NEAR)
    assert (content["verdict"], content["record"]["distance"] < content["distance"]) == ("near duplicate", True)
    assert content["reason"].startswith("unknown from what is stored now (")
    assert content["notes"][1] == (
        "It was released, or its original has changed since: it is re-evaluated when it is fetched again."
    )


def test_dropped_in_the_mode_and_the_tables_of_the_crawl(tmp_path: Path) -> None:
    near = WITHIN_3_BITS
    fill(tmp_path / "crawl.db", [{ORIGINAL: TEXT, NEAR: near}], mode="paper", tables=TableDesign(6, 3))
    content = data(tmp_path, NEAR, "--mode", "paper")
    assert content["reason"] == "fingerprints close together"
    assert content["settings"]["tables"] == "6 choose 3"


def test_pages_are_explained_by_the_scheme_of_their_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    fill(tmp_path / "crawl.db", [{ORIGINAL: STORY, NEAR: OTHER}], scheme="pairs")
    store_pages(url, {ORIGINAL: STORY})
    # The file beside a stored page is analysed as that was.
    fingerprints = [f"{make_signature(text, find_scheme('pairs')).fingerprint:016x}" for text in (STORY, OTHER)]
    for options in ([ORIGINAL, f"text:{OTHER}"], [NEAR]):
        content = data(tmp_path, *options)
        assert content["scheme"]["name"] == "pair-bigrams/one/mmh3/64"
        assert [content[side]["fingerprint"] for side in "ab"] == fingerprints
        assert (content["a"]["origin"], content["verdict"]) == ("stored page", "near duplicate")
    assert data(tmp_path, ORIGINAL, "a b", "--scheme", "pairs")["scheme"]["features"] == "pair-bigrams"
    with closing(Database(url)) as database, database.write() as connection:
        connection.execute(update(properties).where(properties.c.name == "scheme").values(value="9:words/count/mmh3/s"))
    done = run_dedup("explain", ORIGINAL, "a b", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(
        "error: database sqlite:///crawl.db was made with scheme '9:words/count/mmh3/s', which"
    )


def test_pages_without_text_are_dropped_for_their_bytes(tmp_path: Path) -> None:
    deduplicator = Deduplicator(DedupSettings(database_url=f"sqlite:///{tmp_path / 'crawl.db'}"))
    run_id = deduplicator.open_run("x")
    for key in (ORIGINAL, EXACT):
        deduplicator.decide([Document(key, make_signature(""), 0, b"0" * 16)], run_id)
    deduplicator.database.close()
    assert data(tmp_path, EXACT)["reason"] == "the same file"


def test_hostile_texts_names_and_keys_cannot_upset_a_terminal(tmp_path: Path) -> None:
    text = f"{TEXT} {HOSTILE} words{HOSTILE} \n\r"
    key = f"https://news.example/{HOSTILE}"
    fill(tmp_path / "crawl.db", [{ORIGINAL: TEXT, key: NEAR_TEXT}])
    (tmp_path / f"{HOSTILE}.txt").write_text(text, encoding="utf-8")
    explained(tmp_path, f"text:{TEXT}", f"{HOSTILE}.txt")
    explained(tmp_path, key)
    (tmp_path / f"{HOSTILE}.bin").write_text("\0", encoding="utf-8")
    for name in (HOSTILE, f"{HOSTILE}.bin"):
        refused = run_dedup("explain", name, "x y", folder=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert refused.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give the URL of a page, or two documents; 0 given: dedup explain -h"),
        (["a b", "c d", "e f"], "give the URL of a page, or two documents; 3 given: dedup explain -h"),
        (
            ["missing.txt", "a b"],
            "no such file: missing.txt, and no such page in database sqlite:///crawl.db (use text:",
        ),
        (["x" * 5000, "a b"], f"no such file: {'x' * 29}"),
        (["", "a b"], "no such file: , and"),
        (["a b", "set.csv.gz"], "set.csv.gz: holds many documents, one is expected; give the text of one as "),
        (["https://news.example/x"], "database sqlite:///crawl.db knows no page https://news.example/x"),
        ([ORIGINAL], f"{ORIGINAL} was kept, and resembles no other page: it is new in run run 0"),
        (["a b", "c d", "--set", "caution"], "--set 'caution': write NAME=VALUE, such as min_jaccard=.6"),
        (["a b", "c d", "--set", "range=9"], "--set: unknown rule 'range'; there are scheme, dictionary, "),
        (
            [NEAR, "--scheme", "pairs"],
            "scheme pairs: database sqlite:///crawl.db was made with word-bigrams/",
        ),
        ([ORIGINAL, "c d", "--set", "scheme=pairs"], "scheme pairs: database sqlite:///crawl.db was made "),
        (["a", "c d", "--database", "mysql://x/y"], "databases of the kind 'mysql' are not supported"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(folder: Path, options: list[str], message: str) -> None:
    (folder / "set.csv.gz").touch()
    done = run_dedup("explain", *options, folder=folder)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert done.stderr.startswith(f"error: {message}")


def test_database_that_is_not_there_is_one_line_and_status_1(tmp_path: Path) -> None:
    told = "error: there is no database sqlite:///crawl.db: run a crawl first, or name another\n"
    for options in ([ORIGINAL], [ORIGINAL, "a b", "--database", "crawl.db"]):
        done = run_dedup("explain", *options, folder=tmp_path)
        assert (done.returncode, done.stderr, done.stdout) == (1, told, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("databases", "is_found"),
    [
        ([".scrapy/dedup/news.db"], True),
        (["news/.scrapy/dedup/news.db"], True),
        ([".scrapy/dedup/news.db", "old/.scrapy/dedup/old.db"], True),
        ([".scrapy/dedup/news.db", ".scrapy/dedup/old.db"], False),
    ],
)
def test_database_of_the_scrapy_project_that_is_here_is_found(
    databases: list[str], is_found: bool, tmp_path: Path
) -> None:
    for name in databases:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        fill(tmp_path / name, [{ORIGINAL: TEXT, NEAR: NEAR_TEXT}])
    for command in (["explain", NEAR], ["runs"]):
        done = run_dedup(*command, folder=tmp_path)
        assert (done.returncode == 0) is is_found
        assert ("no database" in done.stderr) is not is_found
