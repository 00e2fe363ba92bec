"""Chinese words by dictionaries of a user are those of jieba with the same dictionaries."""

from __future__ import annotations

import io
import json
import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import jieba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup import (
    Deduplicator,
    DedupSettings,
    IncompatibleDatabaseError,
    SettingsError,
    api,
    find_scheme,
    make_signature,
)
from dedup.cli.main import main
from dedup.corpus.index import SavedIndex
from dedup.signature.dictionaries import (
    JIEBA,
    Vocabulary,
    content_of,
    load_jieba,
    read_dictionary_file,
    read_user_words,
    tokenizer_of,
)
from dedup.signature.schemes import SCHEMES, scheme_named
from dedup.signature.segmenter import load_dictionary
from dedup.signature.signing import tokenise
from dedup.simhash import keywords
from tests.crawling import Crawl, finish, start
from tests.signature.test_segmenter import cut as cut_by
from tests.texts import chinese, chinese_words

TEXT = "我在云计算平台上学习自然语言处理，北京大学的学生来到江南水乡。"
# As in jieba's own example: with and without frequency and tag, words of two scripts, a word with a space.
USER_WORDS = "云计算平台 5\n自然语言处理 3 n\n上学习\n凱特琳 nz\nEdu Trust认证 2000\neasy_install 3 eng\n\n北京大学 0\n"
PARTS = st.sampled_from([*"学生江南水的国T", "北京", "大学", "学生", "我们", "来到", "江南", "水乡", "人民", "共和国"])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    numbers = count()

    def written(content: str) -> str:
        path = tmp_path / f"words{next(numbers)}.txt"
        path.write_bytes(content.encode())
        return str(path)

    return written


@cache
def a_folder() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp())


def jieba_with(words: str) -> jieba.Tokenizer:
    theirs = jieba.Tokenizer()
    theirs.FREQ, theirs.total, theirs.initialized = dict(load_jieba().FREQ), load_jieba().total, True
    theirs.load_userdict(io.BytesIO(words.encode()))
    return theirs


def cut(run: str, vocabulary: Vocabulary) -> list[str]:
    return cut_by(run, load_dictionary(vocabulary))


def words_of(text: str, dictionary: str) -> list[str]:
    return make_signature(text, find_scheme(DedupSettings(dictionary=dictionary).scheme)).words.decode().split("\n")


USER_LINES = st.lists(
    st.tuples(
        st.lists(PARTS, min_size=1, max_size=4).map("".join),
        st.one_of(st.none(), st.integers(0, 20), st.integers(0, 10**6)),
        st.sampled_from(["", " n", " nr"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=5)
@given(USER_LINES, st.lists(PARTS.filter(lambda part: part != "T"), min_size=1, max_size=40).map("".join))
@pytest.mark.slow
def test_words_with_those_of_a_user_are_those_of_jieba(lines: list[tuple[str, int | None, str]], run: str) -> None:
    words = "".join(f"{word}{'' if each is None else f' {each}'}{tag}\n" for word, each, tag in lines)
    path = a_folder() / "words.txt"
    path.write_text(words, encoding="utf-8")
    vocabulary = Vocabulary(added=read_user_words(str(path)))
    theirs = jieba_with(words)
    assert cut(run, vocabulary) == list(theirs.cut(run, HMM=False))
    assert tokenizer_of(vocabulary).total == theirs.total
    assert list(tokenizer_of(vocabulary).cut(run)) == list(theirs.cut(run))


@given(
    st.dictionaries(st.lists(PARTS, min_size=1, max_size=3).map("".join), st.integers(1, 9), min_size=1),
    USER_LINES,
    st.lists(PARTS.filter(lambda part: part != "T"), min_size=1, max_size=20).map("".join),
)
def test_words_of_a_whole_dictionary_are_those_of_jieba(
    words: dict[str, int], lines: list[tuple[str, int | None, str]], run: str
) -> None:
    whole, user = a_folder() / "whole.txt", a_folder() / "user.txt"
    whole.write_text("".join(f"{word} {frequency}\n" for word, frequency in words.items()), encoding="utf-8")
    user.write_text("".join(f"{word} {each or 1}{tag}\n" for word, each, tag in lines), encoding="utf-8")
    theirs = jieba.Tokenizer()
    with whole.open("rb") as file:
        theirs.FREQ, theirs.total = theirs.gen_pfdict(file)
    theirs.initialized = True
    base = read_dictionary_file(str(whole))
    assert cut(run, Vocabulary(base)) == list(theirs.cut(run, HMM=False))
    with user.open("rb") as file:
        theirs.load_userdict(file)
    assert cut(run, Vocabulary(base, read_user_words(str(user), base))) == list(theirs.cut(run, HMM=False))


def test_a_word_list_is_named_by_what_it_changes(write: Callable[[str], str]) -> None:
    name = read_user_words(write("云计算平台 5\n自然语言处理 3 n\n"))
    assert read_user_words(write("\ufeff自然语言处理 3 n\r\n\r\n云计算平台 5")) == name
    assert read_user_words(write(content_of(name).decode())) == name
    assert read_user_words(write("云计算平台 6\n自然语言处理 3 n\n")) != name
    assert read_user_words(write("\n")) == ""


def test_what_is_kept_of_a_word_list_has_the_same_effect(write: Callable[[str], str]) -> None:
    name = read_user_words(write(USER_WORDS + "云计算平台 9\n"))
    assert read_user_words(write(content_of(name).decode())) == name
    theirs = jieba_with(USER_WORDS + "云计算平台 9\n")
    assert tokenizer_of(Vocabulary(added=name)).total == theirs.total


def test_the_words_of_a_scheme(write: Callable[[str], str]) -> None:
    path = write(USER_WORDS)
    assert "云计算" not in words_of(TEXT, "")
    found = words_of(TEXT, path)
    assert {"云计算平台", "自然语言处理", "上学习"} <= set(found)
    assert "北京大学" not in found
    scheme = find_scheme(f"words:dict={path}")
    assert scheme == find_scheme(DedupSettings(dictionary=path).scheme) == pickle.loads(pickle.dumps(scheme))
    assert scheme.name == f"4:word-bigrams:dict={scheme.vocabulary.added}/one/mmh3/64/sketch3x128x4/bands24x4"
    assert scheme_named(scheme.name) == scheme


def test_a_whole_dictionary(write: Callable[[str], str]) -> None:
    path = write("北京大学 3 nt\n学生 5 n\n的 9\n")
    assert words_of("北京大学的学生来到", f"only:{path}") == ["北京大学", "的", "学生", "来", "到"]


def test_a_copy_of_settings_has_their_words(write: Callable[[str], str]) -> None:
    path = write(USER_WORDS)
    settings = DedupSettings(dictionary=path)
    Path(path).unlink()
    assert replace(settings, min_tokens=3).scheme == settings.scheme


def test_a_dictionary_that_changes_nothing_is_none(write: Callable[[str], str]) -> None:
    assert DedupSettings(dictionary=write("")).scheme == DedupSettings().scheme == "words"


@pytest.mark.slow
def test_what_is_given_to_jieba_in_this_process_holds(own_jieba: None, write: Callable[[str], str]) -> None:
    path = write(USER_WORDS)
    with Path(path).open("rb") as file:
        jieba.load_userdict(file)
    settings = DedupSettings()
    assert settings.scheme == DedupSettings(dictionary=path, scheme="words").scheme != "words"
    words = make_signature(TEXT).words.decode().split("\n")
    assert words == words_of(TEXT, path)
    assert DedupSettings(dictionary="none").scheme == DedupSettings(dictionary=write("")).scheme == "words"
    assert DedupSettings(scheme="pairs").scheme == "pairs"
    jieba.add_word("学生来到", 10**5)
    assert "学生来到" in make_signature("北京大学的学生来到").words.decode().split("\n")
    jieba.del_word("学生来到")
    assert "学生来到" not in make_signature("北京大学的学生来到").words.decode().split("\n")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("method", ["tfidf", "textrank"])
def test_keywords_are_words_that_are_given_to_jieba(own_jieba: None, write: Callable[[str], str], method: str) -> None:
    text, added = "北京大学的学生学习云计算平台，云计算平台的学生来到北京大学", "云计算平台"
    assert added not in keywords(text, method=method)
    jieba.add_word(added, 10**5, "n")
    found = keywords(text, method=method)
    assert added in found
    assert keywords(text, method=method, dictionary=write(f"{added} 100000 n\n")) == found
    assert added not in keywords(text, method=method, dictionary="none")


def test_a_dictionary_that_is_set_in_this_process_holds(own_jieba: None, write: Callable[[str], str]) -> None:
    path = write("北京大学 3 nt\n学生 5 n\n的 9 x\n")
    jieba.set_dictionary(path)
    assert DedupSettings().scheme == DedupSettings(dictionary=f"only:{path}").scheme
    jieba.add_word("来到", 4)
    assert make_signature("北京大学的学生来到").words.decode().split("\n") == ["北京大学", "的", "学生", "来到"]


def test_jieba_as_it_comes_is_no_dictionary_of_a_user(own_jieba: None) -> None:
    list(jieba.cut(TEXT))
    assert DedupSettings().scheme == "words"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("云计算 5\n李小福\t2\n".encode(), ", line 2: a tab; jieba wants spaces before the frequency and the tag"),
        ("云计算 5\n".encode() + b"\xff\n", ", line 2: not UTF-8; write the file in it"),
        (b"a 9999999999999999999", ", line 1: a frequency of more than 18 digits"),
        (
            b"\xe4\xb8\x80 900000000000000000\n" * 9,
            ": the frequencies add up to 8,100,000,000,060,101,967; expected less",
        ),
    ],
)
def test_user_words_that_cannot_be_read(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        DedupSettings(dictionary=str(path))
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("北京 3\n大学\n", ", line 2: expected a word, a space and its frequency, not '大学'"),
        ("北京 3\n\n大学 1\n", ", line 2: expected a word, a space and its frequency, not ''"),
        ("北京 0\n", ": the frequencies add up to 0; expected 1 to "),
    ],
)
def test_a_whole_dictionary_that_cannot_be_read(content: str, message: str, write: Callable[[str], str]) -> None:
    path = write(content)
    with pytest.raises(SettingsError) as caught:
        DedupSettings(dictionary=f"only:{path}")
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("scheme", "dictionary", "message"),
    [
        ("words", "missing.txt", "missing.txt: cannot be read (No such file or directory); name a file of words"),
        ("words:dict=missing.txt", "", "DEDUP_SCHEME: missing.txt: cannot be read"),
        ("pairs", "{}", "scheme 'pair-bigrams:dict=*/one/mmh3/64': pair-bigrams are made without Chinese words"),
        ("words:dict={}", "only:{}", "scheme 'words:dict={}' names a dictionary: leave DEDUP_DICTIONARY out"),
        (
            "words:dict={}:dict={}",
            "",
            "DEDUP_SCHEME: scheme 'word-bigrams/one/mmh3/64': 'dict=",
        ),
    ],
)
def test_a_dictionary_that_cannot_be_used(
    scheme: str, dictionary: str, message: str, write: Callable[[str], str]
) -> None:
    path = write("云计算平台 5\n")
    with pytest.raises(SettingsError) as caught:
        DedupSettings(scheme=scheme.replace("{}", path), dictionary=dictionary.replace("{}", path))
    before, _, after = message.replace("{}", path).partition("*")
    assert str(caught.value).startswith(before)
    assert after in str(caught.value)


def test_a_list_that_is_not_known_here() -> None:
    with pytest.raises(SettingsError, match="the word list 0123456789abcdef is not known here; name its file"):
        tokenise("北京大学", replace(SCHEMES["words"], vocabulary=Vocabulary(added="0123456789abcdef")))


def test_a_database_of_another_dictionary_is_refused(tmp_path: Path, write: Callable[[str], str]) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    settings = DedupSettings(database_url=url, dictionary=write(USER_WORDS))
    Deduplicator(settings).close()
    Deduplicator(settings).close()
    for other in ("", write("云计算平台 6\n")):
        with pytest.raises(IncompatibleDatabaseError, match="set DEDUP_DICTIONARY to that which") as caught:
            Deduplicator(DedupSettings(database_url=url, dictionary=other))
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_who_compares_a_text_with_a_page_names_the_file(tmp_path: Path, write: Callable[[str], str]) -> None:
    path = write(USER_WORDS)
    with api.Deduplicator(f"sqlite:///{tmp_path / 'dedup.db'}", dictionary=path) as deduplicator:
        deduplicator.decide("page", TEXT)

    # This process knows the words.
    def explained(*options: str) -> Crawl:
        words = [sys.executable, "-m", "dedup", "explain", "page", f"text:{TEXT}", "--database", "dedup.db", *options]
        return finish(start(words, folder=tmp_path))

    refused, done = explained(), explained("--dictionary", path)
    assert (refused.status, refused.stdout) == (2, "")
    assert re.fullmatch(
        r"error: the word list [0-9a-f]{16} is not known here; name its file: --dictionary, or DEDUP_DICTIONARY\n",
        refused.stderr,
    )
    assert (done.status, done.stderr) == (0, "")
    assert "exact duplicate" in done.stdout


# Stretches of four characters that are words of this user alone.
STORY = chinese(chinese_words(300))
WORDS_OF_STORY = "".join(f"{STORY[at : at + 4]} 100000\n" for at in range(0, len(STORY) - 4, 4))


def run(*arguments: object) -> None:
    assert main([str(each) for each in arguments]) == 0


@pytest.mark.slow
def test_files_are_decided_by_a_dictionary_and_the_index_has_it(
    tmp_path: Path, write: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    texts = {"a": STORY, "b": chinese(["春天", *chinese_words(300)[1:]]), "c": chinese(chinese_words(300, "other"))}
    source, index, path = tmp_path / "texts.jsonl", tmp_path / "index", write(WORDS_OF_STORY)
    lines = [json.dumps({"id": key, "text": text}, ensure_ascii=False) for key, text in texts.items()]
    source.write_text("\n".join(lines), encoding="utf-8")
    options = ("--dictionary", path)
    run("files", source, "--save-index", index, "--processes", 2, *options)
    Path(path).unlink()
    saved = SavedIndex(index)
    scheme = find_scheme(saved.settings.scheme)
    found = [saved.words(number) for number in range(len(saved))]
    fingerprints = [saved.stored(number).fingerprint for number in range(len(saved))]
    assert scheme.vocabulary != JIEBA
    signatures = [make_signature(text, scheme) for text in texts.values()]
    assert fingerprints == [each.fingerprint for each in signatures]
    assert [words or each.words for words, each in zip(found, signatures, strict=True)] == [
        each.words for each in signatures
    ]
    capfd.readouterr()
    run("index", "query", index, f"text:{STORY}")
    assert "a" in capfd.readouterr().out
    assert main(["files", str(source), "--dry-run", "--against", str(index)]) != 0
    [line] = [each for each in capfd.readouterr().err.splitlines() if "different settings" in each]
    assert "scheme 4:word-bigrams:dict=" in line
    assert "instead of 4:word-bigrams/one/mmh3/64" in line
