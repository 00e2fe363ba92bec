"""Keywords are jieba's, by any number, with stop words and words of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jieba
import pytest

from dedup import SettingsError, find_scheme
from dedup.published.features import keywords_of
from dedup.signature.schemes import scheme_named
from dedup.signature.tokens import tokenise
from dedup.signature.word_lists import pack
from tests.texts import chinese, chinese_words

TEXT = "云计算平台上的学生在研究自然语言处理。" + chinese(chinese_words(300))
STOP_WORDS = "的\n学生\n研究\r\n时间\n"
USER_WORDS = "云计算平台 5 n\n自然语言处理 3 n\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    stop, user = tmp_path / "stop.txt", tmp_path / "user.txt"
    stop.write_bytes(STOP_WORDS.encode())
    user.write_bytes(USER_WORDS.encode())
    return stop, user


def keywords(scheme: str) -> dict[str, float]:
    return {word.decode(): weight for word, weight in find_scheme(scheme).weighted(TEXT, tokenise(b"")).items()}


def theirs(kind: str) -> Any:
    """Return jieba's extractor, of words that are those of this test alone."""
    jieba.dt.initialize()
    from jieba.analyse import TFIDF, TextRank
    from jieba.posseg import POSTokenizer

    extractor = TFIDF() if kind == "tfidf" else TextRank()
    extractor.tokenizer = jieba.dt if kind == "tfidf" else POSTokenizer(jieba.dt)
    return extractor


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["tfidf", "textrank"])
@pytest.mark.parametrize("count", [11, 22])
@pytest.mark.slow
def test_so_many_keywords_with_stop_words_and_words_of_a_user(
    kind: str, count: int, files: tuple[Path, Path], own_jieba: None
) -> None:
    stop, user = files
    extractor = theirs(kind)
    before = dict(extractor.extract_tags(TEXT, count, withWeight=True))
    assert keywords(f"{kind}:{count}/rank/mmh3/64") == before
    assert len(before) == count
    stop_words = [word for word in before if len(word) > 1][::3]
    stop.write_text("\n".join(stop_words), encoding="utf-8")
    extractor.set_stop_words(str(stop))
    with user.open("rb") as file:
        jieba.load_userdict(file)
    found = keywords(f"{kind}:{count}:stop={stop}:dict={user}/rank/mmh3/64")
    assert found == dict(extractor.extract_tags(TEXT, count, withWeight=True))
    assert not found.keys() & set(stop_words)


def test_without_a_number_there_are_as_many_as_in_the_source() -> None:
    assert len(keywords("tfidf/rank/mmh3/64")) == keywords_of(TEXT)
    assert len(keywords("textrank/rank/mmh3/64")) == 20


def test_names(files: tuple[Path, Path]) -> None:
    stop, user = files
    assert find_scheme("tfidf:11/rank/jenkins/64").name == "2:tfidf:11/rank/jenkins/64/sketch3x128x4/bands24x4"
    assert find_scheme("yanyiwu:11") == find_scheme("tfidf:11/rank/jenkins/64")
    scheme = find_scheme(f"go:22:stop={stop}:dict={user}")
    assert scheme.spec == f"tfidf:22:stop={scheme.stop_words}:dict={scheme.vocabulary.added}/rank/fnv1a/64"
    assert find_scheme(scheme.spec) == scheme
    assert scheme_named(scheme.name, pack(scheme.word_lists)) == scheme
    stop.write_bytes("学生\n时间\n的\n研究".encode())
    assert find_scheme(f"go:22:stop={stop}:dict={user}") == scheme


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "words:11",
            "scheme 'word-bigrams:11/one/mmh3/64': word-bigrams are no keywords: leave out their number and stop words",
        ),
        ("tfidf:0/rank/mmh3/64", "scheme 'tfidf:0/rank/mmh3/64': 1 to 10,000 keywords"),
        ("yanyiwu:11:12", "scheme 'tfidf/rank/jenkins/64': '12' is empty, or given twice"),
        ("yanyiwu:stop=", "scheme 'tfidf/rank/jenkins/64': 'stop=' is empty, or given twice"),
        ("yanyiwu:stop=missing.txt", "missing.txt: cannot be read (No such file or directory); name a file of words"),
        ("yanyiwu:all", "no scheme 'yanyiwu:all': take words, pairs, bigrams32"),
        ("yanyiwu:99999", "scheme 'tfidf:99999/rank/jenkins/64': 1 to 10,000 keywords"),
    ],
)
def test_keywords_that_cannot_be_asked_for(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        find_scheme(name)
    assert str(caught.value).startswith(message)
