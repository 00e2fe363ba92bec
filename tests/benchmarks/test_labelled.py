"""What labelled sets are made of: archives in a cache, texts without markup, versions of pages and pairs."""

import io
import tarfile

import pytest

from benchmarks.labelled.packages import NPM, PYPI, Package, read_texts
from benchmarks.labelled.readers import HTML, MARKDOWN, REST, plain_text
from benchmarks.labelled.sets import COPY, LabelledWriter
from benchmarks.labelled.versions import Project, Release
from dedup.errors import InputError


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


def test_a_page_in_two_releases_is_a_pair_unless_it_has_another_title(tmp_path):
    text = " ".join(f"word{number}" for number in range(100))
    pages = {
        "1.0": {"a": f"Title\n\n{text}", "b": f"Old\n\n{text}"},
        "2.0": {"a": f"Title\n\n{text} now", "b": f"New\n\n{text}"},
    }
    for version, texts in pages.items():
        files = {f"thing-{version}/docs/{name}.rst": content for name, content in texts.items()}
        _archive(tmp_path / PYPI / f"thing-{version}", files)
    old, new = (Release(Package(PYPI, "thing", version), r"docs/(.+)\.rst") for version in pages)
    writer = LabelledWriter(tmp_path / "set", "en")
    Project("learn", "en", "thing", old, new, REST).fill(writer, tmp_path)
    assert writer.pairs == {("new/a", "old/a"): {"label": COPY, "kind": "version"}}
