"""`dedup simhash` and `dedup lookups`: what a student sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from dedup.lookups import MOST_ROWS
from dedup.simhash import bigrams, cosine, distance, keywords, simhash, sums, words
from tests.commands import run_dedup
from tests.texts import CHINESE, ENGLISH, edited

CATS = ("the cat sat\non the mat", "the cat sat on a mat")


def test_the_steps_are_drawn(tmp_path: Path) -> None:
    done = run_dedup("simhash", *CATS, "--bits", "8", "--features", "words", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, distances = done.stdout.split("\n\n")
    assert first.splitlines() == [
        "text 1       the cat sat on the mat",
        "1 features   5 features with weights: words",
        "2 hashes     8 bits of mmh3",
        "   the  2  00011100",
        "   cat  1  00110110",
        "   sat  1  01100110",
        "   on   1  10111001",
        "   mat  1  00001111",
        "3 signs      plus the weight where the hash has 1, minus it where it has 0",
        "   the  2  ---+++--",
        "   cat  1  --++-++-",
        "   sat  1  -++--++-",
        "   on   1  +-+++--+",
        "   mat  1  ----++++",
        "4 sums       of each column, the highest bit first",
        "   -4 -4  0  2  2  4  0 -2",
        "5 fingerprint, 1 where the sum is above 0",
        "   00011100",
        "   1c, 28",
    ]
    assert "   00001100" in second.splitlines()
    assert distances.splitlines() == ["6 distance of 1 and 2: 1 bit of 8; cosine .87, Jaccard .83", "   ...^...."]


@pytest.mark.parametrize(
    ("features", "made", "hash_", "bits"),
    [
        ("bigrams", bigrams, "md5", 128),
        ("words", words, "python2", 64),
        ("words:3", lambda text: words(text, 3), "sha1", 160),
        ("keywords:5", lambda text: keywords(text, 5), "jenkins", 64),
        ("textrank:3", lambda text: keywords(text, 3, "textrank"), "fnv1a", 33),
    ],
)
def test_a_program_gets_the_same(tmp_path: Path, features: str, made: Any, hash_: str, bits: int) -> None:
    # A line end at the end of a file is none of its text.
    (tmp_path / "a.txt").write_text(f"{CHINESE}\r\n", encoding="gb18030", newline="")
    paragraph = f"<html><body><article><p>{CHINESE}</p><p>{CHINESE}</p></article></body></html>"
    (tmp_path / "b.html").write_text(paragraph, encoding="gb18030")
    given = ("--features", features, "--hash", hash_, "--bits", bits, "--json")
    given += ("--encoding", "gb18030")
    done = run_dedup("simhash", "a.txt", "b.html", f"text:{CHINESE[:60]}", *given, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    texts = [each["text"] for each in found["texts"]]
    assert (texts[0], texts[1].split("\n")[0], texts[2]) == (CHINESE, CHINESE, CHINESE[:60])
    every = [made(text) for text in texts]
    fingerprints = [simhash(each, bits, hash_) for each in every]
    assert [int(each["fingerprint"], 2) for each in found["texts"]] == fingerprints
    assert [each["sums"] for each in found["texts"]] == [sums(each, bits, hash_) for each in every]
    weights = found["texts"][0]["features"]
    assert {each["feature"]: each["weight"] for each in weights} == every[0]
    assert [each["weight"] for each in weights] == sorted(every[0].values(), reverse=True)
    assert [each["texts"] for each in found["pairs"]] == [[1, 2], [1, 3], [2, 3]]
    assert found["pairs"][1]["distance"] == distance(fingerprints[0], fingerprints[2])
    assert found["pairs"][0]["cosine"] == cosine(*every[:2])


@pytest.mark.parametrize("features", ["words", "keywords"])
def test_words_of_a_dictionary_are_features(features: str, tmp_path: Path) -> None:
    text = "蓝翔给出了升职加薪的机会"
    (tmp_path / "words.txt").write_text("升职加薪 99999\n", encoding="utf-8")
    for given in ((), ("--dictionary", "words.txt")):
        done = run_dedup("simhash", text, "--features", features, *given, "--json", folder=tmp_path)
        found = {each["feature"] for each in json.loads(done.stdout)["texts"][0]["features"]}
        assert ("升职加薪" in found) == bool(given)


def test_of_many_features_the_heaviest_are_shown(tmp_path: Path) -> None:
    done = run_dedup("simhash", f"text:{ENGLISH}\x1b[2J", folder=tmp_path)
    lines = done.stdout.splitlines()
    count = len(bigrams(f"{ENGLISH}\x1b[2J"))
    assert lines.count(f"   and {count - 12:,} more") == 2
    assert "\x1b" not in done.stdout
    assert max(map(len, lines)) <= 120


def test_lookups_of_random_fingerprints(tmp_path: Path) -> None:
    done = run_dedup("lookups", "--n", "2e4", "--queries", "20", "--plot", "plot.svg", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "20,000 fingerprints at random, looked up by what is near one of them; radius 3"
    four = next(line for line in lines if line.startswith("4 choose 1 "))
    assert four.split()[3:5] == ["4", "4"]
    assert four.split()[6] == "1.2"
    assert four.split()[-2:] == ["1", "1,048,576"]
    assert "variants in the store: 874,900,000 keys; tried up to --n 1534" in lines
    assert 1_534 * 43_745 <= MOST_ROWS < 1_535 * 43_745
    texts = [each.text for each in ET.parse(tmp_path / "plot.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert {"brute force", "6 choose 3", "64"} <= set(texts)


def test_lookups_of_documents_and_labelled_sets(tmp_path: Path) -> None:
    texts = [ENGLISH, edited(ENGLISH, 1, 1), CHINESE]
    rows = [json.dumps({"id": f"d{number}", "text": text}) for number, text in enumerate(texts)]
    labelled = tmp_path / "set"
    labelled.mkdir()
    (labelled / "docs.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (labelled / "pairs.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "more.jsonl").write_text("\n".join([*rows, "no JSON"]), encoding="utf-8")
    done = run_dedup("lookups", "set", "more.jsonl", "--radius", "12", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 record left out" in done.stderr
    found = json.loads(done.stdout)
    assert (found["n"], found["radius"]) == (6, 12)
    rows_found = {each["lookup"]: each for each in found["lookups"] if "refused" not in each}
    assert rows_found["brute force"]["candidates"] <= 4
    assert {each["recall"] for each in rows_found.values()} == {1.0}
    refused = [each["lookup"] for each in found["lookups"] if "refused" in each]
    assert refused == ["variants of the query", "variants in the store"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simhash", "a b", "--features", "shingles"), "--features 'shingles'"),
        (("simhash", "a b", "--bits", "300"), "--bits '300': give a whole number from 1 to 256"),
        (("simhash", "absent.txt"), "no such file: absent.txt (use text:... for a literal text)"),
        (("simhash", "set.jsonl"), "set.jsonl: holds many documents, one is expected; give the text of one as text:"),
        (
            ("simhash", "a b", "--dictionary", "w.txt"),
            "--dictionary: bigrams are of characters; give it with --features",
        ),
        (("simhash", "a b", "--features", "words", "--dictionary", "w.txt"), "w.txt: cannot be read"),
        (("simhash", "the cat", "--features", "textrank"), "'the cat': no textrank in it; take other --features"),
        (("simhash", *["a b"] * 101), "101 texts: 100 are drawn at most"),
        (("lookups", "--plot", "absent/plot.svg"), "--plot absent/plot.svg: there is no such folder"),
        (("lookups", "nothing.jsonl", "--n", "5"), "--n is how many random"),
        (("lookups", "--n", "1e9"), "--n '1e9': give a whole number from 1 to 20,000,000"),
        (("lookups", "--radius", "0"), "--radius '0'"),
        (("lookups", "--queries", "many"), "--queries 'many'"),
        (("lookups", "nothing.jsonl"), "nothing.jsonl: cannot be read"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "set.jsonl").touch()
    done = run_dedup(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
