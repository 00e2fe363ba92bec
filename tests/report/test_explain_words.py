"""`dedup explain` where the words of a text are stored and the text is not, and how it shows what the words decide."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.report.rejoining import rejoin
from dedup.report.triage import Kind
from dedup.report.words import diff_words, tokens_of
from dedup.rules.settings import RuleSettings
from dedup.rules.table import Rule
from dedup.signature.schemes import SCHEMES
from dedup.signature.signing import tokenise
from tests.report.test_explain import data, explained, fill, measured, missed
from tests.texts import CHINESE, answered, document, edited, words

A, B, C = (f"https://news.example/{name}" for name in "abc")
TEXT = document(200)
NOTICE = "the office in the old town hall is closed on monday 3 may because of the feast and opens again on tuesday"


def rejoined(text: str, *, segmenter: bool = True) -> str:
    tokens = tokenise(text, SCHEMES["words" if segmenter else "pairs"])
    again = rejoin(b"\n".join(tokens.parts()))
    assert again.parts() == tokens.parts()
    return again.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat, the dog: 7 birds!", "the cat the dog 7 birds"),
        ("我们在北京大学看书。天天天气好", "我们在北京大学看书天天天气好"),
        ("我们用 Python 3 写", "我们用 python 3 写"),
        ("すべての人間は、自由である", "すべての人間は 自由である"),
        ("สวัสดี ครับ", "สวัสดี ครับ"),
        ("ソ", "ソ"),
        ("x", "x"),
    ],
)
def test_words_are_joined_as_their_script_is_written(text: str, expected: str) -> None:
    assert rejoined(text) == expected


def test_pairs_of_characters_are_laid_over_each_other() -> None:
    assert rejoined("我们在北京大学，看书", segmenter=False) == "我们在北京大学 看书"


def test_chinese_is_shown_in_the_characters_in_which_it_was_written() -> None:
    written = "這座圖書館有三萬本舊書和地圖。"
    other = "这座图书馆有五万本旧书和地图。"
    scheme = SCHEMES["words"]
    [place] = diff_words(tokens_of(written, scheme), tokens_of(other, scheme)).places
    assert (place.removed[0], place.added[0]) == ("三", "五")
    prices = (f"這電腦是 {price} 塊錢。" for price in (2500, 2600))
    [priced] = diff_words(*(tokens_of(each, scheme) for each in prices)).places
    assert priced.kind is Kind.PRICE
    assert place.before in written
    assert place.removed + place.after in written


@given(st.text("ab 7é我们的京天かなสวั.,", min_size=1, max_size=60), st.booleans())
def test_rejoined_words_are_the_same_words(text: str, segmenter: bool) -> None:
    tokens = tokenise(text, SCHEMES["words" if segmenter else "pairs"])
    if len(tokens):
        again = rejoin(b"\n".join(tokens.parts()))
        assert again.parts() == tokens.parts()
        assert b"\n".join(again.parts()) == b"\n".join(tokens.parts())


def test_changed_pairs_are_shown_without_what_their_neighbours_share() -> None:
    a, b = (tokenise(text, SCHEMES["pairs"]) for text in ("我们在北京看书", "我们在上海看书"))
    [place] = diff_words(a, b).places
    assert (place.before, place.removed, place.added, place.after) == ("我们在", "北京", "上海", "看书")
    a, b = (tokenise(text, SCHEMES["pairs"]) for text in ("我们在大大学看书", "我们在大学看书"))
    [place] = diff_words(a, b).places
    assert (place.removed, place.added) == ("大大", "")


def test_the_most_decisive_place_is_there_though_many_come_before_it() -> None:
    words = document(300, "many").split()
    changed = [f"other{'x' * at}" if at % 8 == 0 else word for at, word in enumerate(words)]
    pair = ([*words, "at", "4", "o'clock", *words[:20]], [*changed, "at", "5", "o'clock", *words[:20]])
    found = diff_words(*(tokenise(" ".join(each)) for each in pair))
    assert found.place_count > len(found.places)
    assert max(found.places, key=lambda place: place.kind.weight).added == "5"
    assert found.places == sorted(found.places, key=lambda place: place.at)
    whole = diff_words(*(tokenise(" ".join(each)) for each in pair), most_places=None)
    assert len(whole.places) == found.place_count


def test_stored_words_give_all_that_the_text_gave(tmp_path: Path) -> None:
    near = edited(TEXT, 8)
    fill(tmp_path / "crawl.db", [{A: TEXT, B: near}])
    content = data(tmp_path, B)
    assert {content[side]["origin"] for side in "ab"} == {"stored words, its text is not stored"}
    assert content["notes"] == []
    of_texts = data(tmp_path, f"text:{TEXT}", f"text:{near}")
    # Words have no capitals.
    of_texts["diff"]["are_names_known"] = False
    for name in ("rule", "reason", "distance", "keys", "estimated", "measures", "diff"):
        assert content[name] == of_texts[name]
    assert len(content["diff"]["places"]) == 8


def test_stored_chinese_words_are_written_without_spaces(tmp_path: Path) -> None:
    story = CHINESE * 3
    fill(tmp_path / "crawl.db", [{A: story, B: story.replace("早上", "清晨", 1), C: story}])
    assert "小岛的渡船每天 [-早上-] {+清晨+} 7 点 40 分" in explained(tmp_path, B)
    # Exact duplicates share the words of their original.
    content = data(tmp_path, C)
    assert (len(content["keys"]["bands"]), content["diff"]["place_count"]) == (24, 0)


def test_form_filled_in_anew_shows_what_was_replaced(tmp_path: Path) -> None:
    options = tuple(f"text:{answered(TEXT, 14, who)}" for who in ("one", "other"))
    content = data(tmp_path, *options)
    assert content["reason"] == Rule.REPLACED.says
    values = measured(content)
    assert 1.25 < values["max_replaced"] <= 7
    # A name three times, and five numbers.
    assert (values["max_swapped"], values["min_numbers"], values["max_rewritten"]) == (1.5, 0, 0)
    assert missed(content) == ["max_replaced", "max_swapped", "min_numbers"]
    output = " ".join(explained(tmp_path, *options).split())
    assert (
        f"short stretches replaced, of 100 words {values['max_replaced']:.3g} at most 1.25 missed DEDUP_CAU" in output
    )
    assert "words swapped for the same throughout, of 100 1.5 at most 0.4 missed DEDUP_CAUTION" in output
    assert "numbers in both .00 at least .40 missed DEDUP_CAUTION" in output
    assert re.search("of 100 +1.5  any ", explained(tmp_path, *options, "--set", "caution=eager"))


def test_other_signs_are_shown(tmp_path: Path) -> None:
    first, second = (f"{TEXT} in C{sign}" for sign in ("++", "#"))
    fill(tmp_path / "crawl.db", [{A: first, B: second}])
    for options in ((B,), (f"text:{first}", f"text:{second}")):
        content = data(tmp_path, *options)
        assert (content["verdict"], content["reason"]) == ("similar", Rule.SIGNS.says)
        assert content["signs"] == [["c++", "c#"]]
        assert "other signs   A: c++   B: c#\n" in explained(tmp_path, *options)


def test_what_is_noise_has_no_limit(tmp_path: Path) -> None:
    options = (f"text:{TEXT}", f"text:{edited(TEXT, 14)}")
    content = data(tmp_path, *options)
    assert (content["verdict"], missed(content)) == ("near duplicate", [])
    [replaced] = [each for each in content["measures"] if each["name"] == "max_replaced"]
    assert (replaced["value"] > 1.25, replaced["limit"]) == (True, None)
    assert "min_numbers" not in measured(content)


def test_another_text_in_the_same_frame_shows_what_was_rewritten(tmp_path: Path) -> None:
    frame = words(300)
    texts = [" ".join([*frame[:150], *words(60, seed), *frame[150:]]) for seed in "ab"]
    content = data(tmp_path, *(f"text:{text}" for text in texts))
    assert (content["reason"], missed(content)) == (Rule.REWRITTEN.says, ["max_rewritten"])
    assert measured(content)["max_rewritten"] == pytest.approx(60 / 360)


def test_of_short_texts_words_and_pairs_of_words_are_measured(tmp_path: Path) -> None:
    content = data(tmp_path, f"text:{NOTICE}", f"text:{NOTICE} morning")
    assert content["reason"] == Rule.SHORT_ALIKE.says
    # 18 different words and 21 pairs of words in 22; one word and one pair are new.
    own = {*NOTICE.split(), *zip(NOTICE.split(), NOTICE.split()[1:], strict=False)}
    assert measured(content) == {"short_jaccard": len(own) / (len(own) + 2), "max_replaced": 0}
    other = data(tmp_path, f"text:{NOTICE}", f"text:{NOTICE.replace('3', '4')}")
    assert (other["verdict"], other["reason"], missed(other)) == ("similar", Rule.RENUMBERED.says, [])
    unlike = data(tmp_path, f"text:{document(30)}", f"text:{document(30, 'other')}")
    assert (unlike["verdict"], measured(unlike)) == ("new", {})


def test_of_texts_that_are_too_long_for_the_rule_words_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RuleSettings, "max_compared", 199)
    content = data(tmp_path, *(f"text:{answered(TEXT, 14, who)}" for who in ("one", "other")))
    assert (content["reason"], list(measured(content))) == (Rule.JACCARD.says, ["min_jaccard"])
    assert content["diff"]["place_count"] > 0


def test_texts_too_long_for_a_word_diff_say_so(tmp_path: Path) -> None:
    texts = [" ".join(words(32_000, start)) for start in "xy"]
    (tmp_path / "a.txt").write_text(texts[0], encoding="utf-8")
    (tmp_path / "b.txt").write_text(texts[1], encoding="utf-8")
    content = data(tmp_path, str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert content["diff"] is None
    assert content["notes"] == [
        "With 32,000 and 32,000 tokens the texts are too long for the words that differ to be shown."
    ]
