from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.signature.normalise import normalise
from dedup.signature.signing import make_signature, tokenise


def tokens(text: str) -> list[str]:
    return cut(normalise(text))


def cut(normalised: str) -> list[str]:
    return tokenise(normalised).words()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?! ... —", []),
        ("Hello, world!", ["hello", "world"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("don't", ["don", "t"]),
        ("e-mail", ["e", "mail"]),
        ("covid19 in 2020", ["covid19", "in", "2020"]),
        ("1,000.50 EUR", ["1", "000", "50", "eur"]),
        ("naïve café", ["naïve", "café"]),
        ("Привет, мир", ["привет", "мир"]),
        ("Καλημέρα κόσμε", ["καλημέρα", "κόσμε"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("😀 ok 👍🏽", ["ok"]),
        ("x\u0302\u0304y", ["x\u0302\u0304y"]),
    ],
)
def test_words_of_scripts_with_spaces_and_digits(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("שָׁלוֹם", id="Hebrew with points"),
        pytest.param("العَرَبِيَّة", id="Arabic with vowels"),
        pytest.param("हिन्दी", id="Devanagari"),
        pytest.param("বাংলা", id="Bengali"),
        pytest.param("தமிழ்", id="Tamil"),
        pytest.param("తెలుగు", id="Telugu"),
        pytest.param("සිංහල", id="Sinhala"),
        pytest.param("한국어", id="Hangul"),
        pytest.param("ქართული", id="Georgian"),
        pytest.param("հայերեն", id="Armenian"),
        pytest.param("አማርኛ", id="Ethiopic"),
        pytest.param("ދިވެހި", id="Thaana"),
        pytest.param("ܐܰܒܳܐ", id="Syriac with vowels"),
        pytest.param("ߒߞߏ߫", id="N'Ko"),
        pytest.param("སྐད", id="Tibetan"),
    ],
)
def test_a_word_with_marks_is_one_token(word: str) -> None:
    word = normalise(word)
    assert tokens(f"{word}, {word}!") == [word, word]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"], id="Hindi ends of sentences are dropped"),
        pytest.param("name: ____ snake_case", ["name", "snake", "case"], id="underscores are punctuation"),
        pytest.param("我来到北京清华大学。", ["我", "来到", "北京", "清华大学"], id="Chinese words are those of jieba"),
        pytest.param(
            "他来到了网易杭研大厦",
            ["他", "来到", "了", "网易", "杭", "研", "大厦"],
            id="without a hidden Markov model unknown words stay characters",
        ),
        pytest.param(
            "2024年,Apple发布了iPhone 16手机",
            ["2024", "年", "apple", "发布", "了", "iphone", "16", "手机"],
            id="Chinese mixed with Latin and digits",
        ),
        pytest.param("北。京", ["北", "京"], id="Chinese words do not reach across punctuation"),
        pytest.param("𠮷", ["𠮷"], id="Han of the supplementary planes"),
        pytest.param("日本語のテキスト", ["日本", "本語", "語の", "のテ", "テキ", "キス", "スト"], id="Japanese"),
        pytest.param("私はPythonが好き。", ["私は", "python", "が好", "好き"], id="Japanese with a Latin word"),
        pytest.param("ﾃｷｽﾄ", ["テキ", "キス", "スト"], id="halfwidth katakana"),
        pytest.param("え?", ["え"], id="a single kana"),
        pytest.param("안녕하세요, 세계!", ["안녕하세요", "세계"], id="Korean words stand between spaces"),
        pytest.param("ภาษา", ["ภา", "าษ", "ษา"], id="Thai"),
        pytest.param("ลาว ไทย", ["ลา", "าว", "ไท", "ทย"], id="Thai with a space"),
        pytest.param("ພາສາ", ["ພາ", "າສ", "ສາ"], id="Lao"),
        pytest.param("မြန်", ["မြ", "ြန", "န်"], id="Burmese"),
        pytest.param("ខ្មែ", ["ខ្", "្ម", "មែ"], id="Khmer"),
        pytest.param(
            "Hello Привет ไทย 한국 北京 مرحبا",
            ["hello", "привет", "ไท", "ทย", "한국", "北京", "مرحبا"],
            id="mixed scripts",
        ),
    ],
)
def test_tokens_by_script(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_what_stands_between_leaves_the_tokens_of_the_rest() -> None:
    assert "𠮷" in tokens("我认识𠮷先生")
    # A kana now and then leaves a text Chinese.
    assert tokens("北京の每日坊在上海开了新的商店") == ["北京", "の", *tokens("每日坊在上海开了新的商店")]
    assert tokens("대한민국 大韓") == ["대한민국", *tokens("大韓")]


@pytest.mark.parametrize(
    ("text", "without"),
    [
        pytest.param("ខ្មែ។ ខ្មែ", "ខ្មែ ខ្មែ", id="Khmer khan"),
        pytest.param("မြန်။ မြန်", "မြန် မြန်", id="Burmese section"),
        pytest.param("มา ๚ มา", "มา มา", id="Thai angkhankhu"),
    ],
)
def test_punctuation_of_scripts_without_spaces_is_dropped(text: str, without: str) -> None:
    assert tokens(text) == tokens(without)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("of words, “quotes” (and) more... words?", []),
        ("C++ or C#, up +2 %", ["c|++ |or", "c|#, |up", "up| +|2", "2| %|"]),
        ("★ we_are €5–7 ★★", ["|★ |we", "are| €|5", "5|–|7", "7| ★★|"]),
        ("北京+上海 ภา→ภา", ["北京|+|上海", "ภา|→|ภา"]),
        ("© word's Brand® `a` +", ["a|` +|"]),
        ("★★★", []),
    ],
)
def test_signs_stand_between_tokens(text: str, signs: list[str]) -> None:
    assert [sign.replace("\n", "|") for sign in make_signature(text).words.decode().split("\0")[1:]] == signs


@given(st.text(st.characters(max_codepoint=0xDFF)))
def test_a_foreign_character_does_not_change_the_tokens_of_the_rest(text: str) -> None:
    assert tokens(f"{text} ก") == [*tokens(text), "ก"]


SCRIPTS = st.sampled_from("abz19éя₂-.,!?' \n北京大学上海のをカー々ภาษมြខ្한국םेनأ😀\u0301\u3099\u200d\ufe0f𠮷_฿។")
ANY_TEXT = st.lists(SCRIPTS).map("".join) | st.text()


@given(ANY_TEXT)
def test_tokens_are_never_empty_and_consist_of_letters_marks_and_digits(text: str) -> None:
    for token in tokens(text):
        assert token
        # Python may not know yet what the tokeniser's Unicode tables know.
        categories = {unicodedata.category(c) for c in token} - {"Cn"}
        assert {category[0] for category in categories} <= {"L", "M", "N"}


@given(ANY_TEXT)
def test_every_letter_and_digit_of_the_text_is_in_some_token(text: str) -> None:
    text = normalise(text)
    assert {c for c in text if c.isalnum()} <= set("".join(cut(text)))


@given(st.lists(st.lists(st.sampled_from(["北京", "大学", "清华", "我", "来到", "国"]), min_size=1).map("".join)))
def test_runs_of_chinese_are_cut_as_if_each_stood_alone(runs: list[str]) -> None:
    # All runs of a text are cut in one call; that must not show.
    assert cut("。".join(runs)) == [token for run in runs for token in cut(run)]
