"""What labelled sets are made of: archives in a cache, texts without markup, frames of sites, and pairs."""

import io
import tarfile
from random import Random

import pytest

from benchmarks.labelled.build import run
from benchmarks.labelled.framed import (
    add_copies,
    add_others_in_one_frame,
    as_comment,
    make_frame,
    rewrapped,
    trimmed,
    with_other_bullets,
)
from benchmarks.labelled.packages import NPM, PYPI, Package, read_texts
from benchmarks.labelled.readers import HTML, MARKDOWN, REST, plain_text
from benchmarks.labelled.sets import COPY, OTHER, LabelledWriter, ratio, words_of
from dedup.errors import InputError

TEXTS = [(f"page{n}", "\n".join(f"Line {m} of subject {n} tells {n * 31 + m}." for m in range(12))) for n in range(6)]
TITLES = [f"Chapter {n} on matter {n}" for n in range(40)]


def _archive(folder, files):
    folder.mkdir(parents=True)
    with tarfile.open(folder / "package.tar.gz", "w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))


@pytest.mark.parametrize(
    ("markup", "text", "expected"),
    [
        (REST, "Title\n=====\n\nSee :ref:`this page <page>` and ``code``::\n", "Title\n\nSee this page and code:"),
        (
            MARKDOWN,
            "---\ntitle: x\n---\n# Title\n\n- [a link](http://a.example) and `code`",
            "Title\n\n- a link and code",
        ),
        (
            HTML,
            "<html><head><title>x</title></head><body><h1>Tïtle</h1><p>A  text.</p></body></html>",
            "Tïtle\nA text.",
        ),
    ],
)
def test_markup_is_taken_off(markup, text, expected):
    assert plain_text(text, markup) == expected


def test_texts_are_read_from_an_archive_in_the_cache(tmp_path):
    _archive(tmp_path / PYPI / "thing-1.0", {"thing-1.0/docs/a.rst": "A", "thing-1.0/setup.py": "raise SystemExit"})
    assert read_texts(Package(PYPI, "thing", "1.0"), tmp_path, r"docs/(.+)\.rst") == {"docs/a.rst": "A"}


def test_a_pattern_without_files_is_an_error(tmp_path):
    _archive(tmp_path / NPM / "@of-thing-1.0", {"package/README.md": "A"})
    with pytest.raises(InputError, match=r"@of/thing 1.0: no file matches"):
        read_texts(Package(NPM, "@of/thing", "1.0"), tmp_path, r"docs/.+")


def test_a_tool_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(InputError, match="unearth is not on this machine: pip install unearth"):
        read_texts(Package(PYPI, "thing", "1.0"), tmp_path, r".+")


def test_a_frame_is_the_same_for_the_same_seed_and_has_about_the_length():
    frames = [make_frame(Random(7), "en", TITLES, 120) for _ in range(2)]
    assert frames[0] == frames[1]
    assert 90 <= len(words_of(frames[0].around(""))) <= 120


def test_edits_keep_the_words():
    text = "Title\n\n- first point\n- second point\n\nA line of text that goes on."
    assert trimmed(text, Random(1)) in text
    assert "- first" not in with_other_bullets(text, Random(3))
    assert words_of(rewrapped(text, Random(1))) == words_of(text)
    assert ratio(as_comment(text, Random(1)), text) == 1.0


def test_others_share_a_frame_and_copies_do_not(tmp_path):
    writer = LabelledWriter(tmp_path, "thing", "en")
    add_others_in_one_frame(writer, TEXTS, TITLES, 4, Random(1))
    others = dict(writer.pairs)
    add_copies(writer, [(key, text, text) for key, text in TEXTS], TITLES, {"trimmed": trimmed}, Random(1))
    assert others
    for (a, b), pair in others.items():
        first, second = (writer.documents[key]["text"].splitlines()[0] for key in (a, b))
        assert pair["label"] == OTHER
        assert (first == second) == (pair["kind"] == "one frame")
    copies = [pair for key, pair in writer.pairs.items() if key not in others]
    assert {pair["label"] for pair in copies} == {COPY}
    assert {pair["kind"] for pair in copies} == {"frame", "trimmed"}


def test_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match="--kinds nothing: there are"):
        run(out=tmp_path, kinds=["nothing"])
