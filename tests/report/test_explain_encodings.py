"""`dedup explain` and `dedup index query` on files that are not UTF-8, or no texts at all."""

from __future__ import annotations

import codecs
import zlib
from pathlib import Path
from random import Random

import pytest

from dedup.readers.named import read_named
from tests.commands import run_dedup
from tests.pdfs import ENCRYPTED, in_lines, pdf
from tests.report.test_explain import data, explained
from tests.saved_indexes import save_index
from tests.texts import CHINESE, chinese, chinese_words, document

TAIWAN = (
    "去小島的渡船每天早上七點四十分從舊碼頭出發。趕集的日子裡，船要等麵包師傅，"
    "他帶來一百二十個麵包和當天的報紙。冬天冰層很厚，就沒有人等了。"
)
FRENCH = (
    "Le bac pour l'île part à 7h40 du vieux quai. Les jours de marché il attend le boulanger, qui apporte des pains "
    "et le journal du matin. L'hiver, quand la glace est épaisse, personne n'attend plus du tout, même à midi."
)
GERMAN = (
    "Die Fähre zur Insel fährt früh um 7:40 vom alten Pier ab. An Markttagen wartet sie auf den Bäcker, der große "
    "Brötchen und die Morgenzeitung bringt. Im Winter, wenn das Eis dick ist, wartet überhaupt niemand."
)
RUSSIAN = (
    "Паром на остров отходит в семь сорок утра от старой пристани. В базарные дни он ждёт пекаря, который привозит "
    "сто двадцать хлебов и утреннюю газету. Зимой, когда лёд толстый, никто не ждёт."
)
JAPANESE = (
    "島への渡し船は毎朝七時四十分に古い桟橋から出ます。市の日には、百二十個のパンと朝刊を持ってくるパン屋を待ちます。"
)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + Random(1).randbytes(300)
PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
# Nothing in it is NUL.
NOISE = bytes(each or 1 for each in zlib.compress(Random(2).randbytes(3000)))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gbk"),
        (CHINESE, "gb18030"),
        (TAIWAN, "big5"),
        (FRENCH, "latin-1"),
        (GERMAN, "windows-1252"),
        (RUSSIAN, "windows-1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "utf-16"),
        (document(30), "utf-16"),
        (CHINESE, "utf-8-sig"),
    ],
)
def test_a_text_is_read_in_its_encoding(text: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(text.encode(encoding))
    content = data(tmp_path, "a.txt", "b.txt")
    assert content["verdict"] == "exact duplicate"
    # Where it is not certain, that is said.
    assert len(content["notes"]) == (not encoding.startswith("utf"))
    assert all(note.startswith("B is not UTF-8 and was read as") for note in content["notes"])


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_BE + "Fähre".encode("utf-16-be"), "Fähre".encode("utf-32")])
def test_other_byte_order_marks_are_read(mark: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(mark)
    material = read_named(str(tmp_path / "a.txt"))
    assert material is not None
    assert material.content == "Fähre"


@pytest.mark.parametrize(
    ("text", "encoding"), [("Přívoz čeká.", "windows-1250"), ("渡船", "gbk"), ("plain", "utf-16-le")]
)
def test_a_short_text_is_read_as_the_user_says(text: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(text.encode(encoding))
    content = data(tmp_path, "a.txt", "b.txt", "--encoding", encoding)
    assert (content["verdict"], content["notes"]) == ("exact duplicate", [])


@pytest.mark.parametrize("meta", ['<meta charset="gbk">', ""])
@pytest.mark.parametrize("options", [(), ("--encoding", "gbk")])
def test_a_page_is_read_as_in_a_crawl(meta: str, options: tuple[str, ...], tmp_path: Path) -> None:
    paragraphs = "".join(f"<p>{chinese(chinese_words(40, number))}。</p>" for number in range(6))
    page = f"<!doctype html><html><head>{meta}</head><body><article>{paragraphs}</article></body></html>"
    (tmp_path / "a.html").write_bytes(page.encode("gbk"))
    (tmp_path / "b.html").write_text(page, encoding="utf-8")
    content = data(tmp_path, "a.html", "b.html", *options)
    assert (content["verdict"], content["a"]["tokens"] > 200) == ("exact duplicate", True)


def test_a_pdf_is_explained_by_its_text(tmp_path: Path) -> None:
    text = document(100, "pdf")
    (tmp_path / "a.pdf").write_bytes(pdf(in_lines(text)))
    content = data(tmp_path, "a.pdf", f"text:{text}")
    assert (content["verdict"], content["a"]["origin"]) == ("exact duplicate", "file, the text of its PDF")


def test_a_guess_is_shown_to_people(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(CHINESE.encode("gbk"))
    output = " ".join(explained(tmp_path, "a.txt", f"text:{CHINESE}").split())
    assert "A is not UTF-8 and was read as gb18030, which is a guess" in output
    assert "--encoding NAME settles it" in output


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.pdf", PDF, (), "a.pdf: Failed to load document"),
        ("a.txt", ENCRYPTED, ("--encoding", "latin-1"), "a.txt: it takes a password"),
        ("a.html", pdf([]), (), "a.html: hardly any text, or none"),
        ("a.png", PNG, (), "a.png: a binary file, not a text"),
        ("a.html", PNG, (), "a.html: a binary file, not a text"),
        ("a.png", PNG, ("--encoding", "latin-1"), "a.png: a binary file, not a text"),
        ("a.txt", b"a\0b", (), "a.txt: a binary file, not a text"),
        ("a.bin", NOISE, (), "a.bin: not UTF-8, and in no encoding that could be told; name it by --encoding"),
        ("a.txt", b"caf\xe9", ("--encoding", "gbk"), "a.txt: not gbk ("),
        ("a.txt", codecs.BOM_UTF16_LE + b"abc", (), "a.txt: not utf-16 ("),
        ("a.txt", b"text", ("--encoding", "klingon"), "--encoding 'klingon': not known; such as gb18030"),
        ("a.txt", b"text", ("--encoding", "hex"), "--encoding 'hex': not known"),
    ],
)
def test_what_is_no_text_is_refused(
    name: str, content: bytes, options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    done = run_dedup("explain", name, "text:a text", *options, folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert done.stderr.startswith(f"error: {said}")


def test_an_index_is_asked_with_files_of_any_encoding(tmp_path: Path) -> None:
    save_index(tmp_path / "index", [("story", CHINESE)])
    (tmp_path / "a.txt").write_bytes(CHINESE.encode("gbk"))
    (tmp_path / "a.png").write_bytes(PNG)

    def asked(*arguments: str) -> str:
        done = run_dedup("index", "query", "index", *arguments, folder=tmp_path)
        return done.stderr if done.returncode else done.stdout

    assert "story" in asked("a.txt")
    assert "story" in asked("a.txt", "--encoding", "gb18030")
    assert "not big5" in asked("a.txt", "--encoding", "big5")
    assert "a.png: a binary file" in asked("a.png")
