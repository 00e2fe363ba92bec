"""Compiling ahead: said, kept, interrupted; and starts where compiled code can be kept nowhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import dedup
from dedup import compiled_cache
from dedup.signature.signing import make_signature
from dedup.warming import PARTS
from tests.texts import CHINESE, ENGLISH, document, edited
from tests.waiting import HANG, wait_until

PACKAGE = Path(dedup.__file__).parent
# A function that signatures need and that is compiled in a second.
SMALL = "segmenter._read*.nbi"

# Prints what is logged while a crawl is prepared, what is compiled after that, and the signatures of two texts.
START = """
import json, logging, sys
records = []
handler = logging.Handler()
handler.emit = lambda record: records.append([record.levelname, record.getMessage()])
logging.getLogger("dedup").addHandler(handler)
logging.getLogger("dedup").setLevel("INFO")
from dedup.warming import prepare_crawl
prepare_crawl()
from numba.core import event
compiled = []
class Compiled(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event): pass
event.register("numba:compile", Compiled())
from dedup.signature.signing import make_signature
signatures = [make_signature(text) for text in sys.argv[1:]]
print(json.dumps([records, compiled, [[each.fingerprint, each.words.decode()] for each in signatures]]))
"""


def environment(**variables: str) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if name not in {"DEDUP_CACHE_DIR", "NUMBA_CACHE_DIR"}
    }
    return {**inherited, **variables}


def run(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=HANG,
        check=False,
        cwd=cwd,
        env=environment(**variables),
    )


def start(cwd: Path | None = None, **variables: str) -> tuple[list[list[str]], list[str], list[list[object]]]:
    done = run("-c", START, ENGLISH, CHINESE, cwd=cwd, **variables)
    assert done.returncode == 0, done.stderr
    records, compiled, signatures = json.loads(done.stdout)
    return records, compiled, signatures


def expected() -> list[list[object]]:
    return [[each.fingerprint, each.words.decode()] for each in map(make_signature, (ENGLISH, CHINESE))]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("warm") / "made" / "by it"
    return folder, run("-m", "dedup", "warm-up", DEDUP_CACHE_DIR=str(folder))


@pytest.mark.slow
def test_it_says_what_it_does_and_where_it_is_kept(warm: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = warm
    assert done.returncode == 0
    assert len(list(folder.rglob("*.nbc"))) == PARTS["signatures"].functions
    assert done.stdout == f"compiled code is kept in {folder}/dedup\n"
    before, after = done.stderr.splitlines()
    assert before.startswith("dedup warm-up: compiling signatures for this machine, once; kept in ")
    assert before.endswith(f"{folder}/dedup")
    assert after.startswith("dedup warm-up: compiled in ")


@pytest.mark.slow
def test_what_was_compiled_is_there(warm: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = warm
    assert start(DEDUP_CACHE_DIR=str(folder)) == ([], [], expected())
    again = run("-m", "dedup", "warm-up", DEDUP_CACHE_DIR=str(folder))
    assert (again.returncode, again.stderr) == (0, "")


@pytest.fixture
def nearly_warm(warm: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> Path:
    """A folder where all is compiled, and nothing says so."""
    shutil.copytree(warm[0], tmp_path, dirs_exist_ok=True)
    for mark in tmp_path.rglob("*.done"):
        mark.unlink()
    return tmp_path


@pytest.mark.thorough
@pytest.mark.slow
def test_a_crawl_says_in_the_log_that_it_compiles(nearly_warm: Path) -> None:
    records, compiled, signatures = start(DEDUP_CACHE_DIR=str(nearly_warm))
    assert [level for level, _ in records] == ["INFO", "INFO"]
    assert records[0][1].startswith("compiling signatures for this machine, once; kept in ")
    assert records[1][1].startswith("compiled in ")
    assert (compiled, signatures) == ([], expected())
    # Cut off by a power cut: it is compiled once more, and then it is there.
    for path in nearly_warm.rglob(SMALL):
        path.write_bytes(path.read_bytes()[:50])
    records, compiled, signatures = start(DEDUP_CACHE_DIR=str(nearly_warm))
    assert (records, compiled[0], signatures) == ([], "_read", expected())
    assert start(DEDUP_CACHE_DIR=str(nearly_warm)) == ([], [], expected())


@pytest.mark.thorough
@pytest.mark.slow
def test_files_say_that_they_compile_and_then_compile_no_more(tmp_path: Path) -> None:
    texts = [document(100, "a"), edited(document(100, "a"), 2), document(30, "b"), CHINESE]
    lines = [json.dumps({"id": f"{number}", "text": text}) for number, text in enumerate(texts)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    asked = ("-m", "dedup", "files", "in.jsonl", "--dry-run", "--json", "--processes", "1")
    first = run(*asked, cwd=tmp_path, DEDUP_CACHE_DIR=str(tmp_path / "cache"))
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["near"] == 1
    assert first.stderr.startswith(
        "dedup files: compiling signatures, what `dedup files` needs for this machine, once; "
    )
    kept = set(tmp_path.rglob("*.nbc"))
    for mode in ("checked", "paper"):
        again = run(*asked, "--mode", mode, cwd=tmp_path, DEDUP_CACHE_DIR=str(tmp_path / "cache"))
        assert (again.returncode, again.stderr) == (0, "")
    # All of it was compiled by the parts, nothing by the command itself.
    done = max(path.stat().st_mtime_ns for path in tmp_path.rglob("*.done"))
    assert set(tmp_path.rglob("*.nbc")) == kept
    assert all(path.stat().st_mtime_ns <= done for path in kept)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    records, compiled, signatures = start(DEDUP_CACHE_DIR=f"{file}/below")
    [(level, message)] = records
    assert level == "WARNING"
    assert message.startswith(
        f"{file}/below: cannot be written, and compiled code is kept nowhere; set DEDUP_CACHE_DIR"
    )
    assert message.endswith("signatures are made without it, in some milliseconds a text")
    assert (compiled, signatures) == ([], expected())
    # Where our own variable is not set, that of numba names the folder.
    done = run("-m", "dedup", "warm-up", NUMBA_CACHE_DIR=f"{file}/below")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {file}/below: cannot be written")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_neither_the_package_nor_the_home_can_be_written(tmp_path: Path) -> None:
    # In the place of the folders that would be made there are files.
    shutil.copytree(PACKAGE, tmp_path / "dedup", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "dedup" / "__pycache__").touch()
    variables = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "HOME": os.devnull, "XDG_CACHE_HOME": ""}
    records, compiled, signatures = start(tmp_path, **variables)
    [(level, message)] = records
    assert level == "WARNING"
    assert message.startswith("no folder can be written, and compiled code is kept nowhere; set DEDUP_CACHE_DIR")
    assert (compiled, signatures) == ([], expected())


@pytest.mark.thorough
@pytest.mark.slow
def test_what_cannot_be_saved_is_no_success(nearly_warm: Path) -> None:
    # In the place of a file there is a folder.
    for path in nearly_warm.rglob(SMALL):
        path.unlink()
        path.mkdir()
    done = run("-m", "dedup", "warm-up", DEDUP_CACHE_DIR=str(nearly_warm))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: compiling failed: ")
    assert "signature" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_ctrl_c_stops_it_at_once_and_all_of_it(tmp_path: Path) -> None:
    text = tmp_path / "in.jsonl"
    text.write_text('{"id": "1", "text": "some words"}\n', encoding="utf-8")
    command = [sys.executable, "-m", "dedup", "files", str(text), "--dry-run"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(DEDUP_CACHE_DIR=str(tmp_path / "kept")),
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("dedup files: compiling signatures, what `dedup files`")
        of_it = psutil.Process(process.pid)
        wait_until(lambda: bool(of_it.children(recursive=True)))
        children = of_it.children(recursive=True)
        # A terminal would tell the children too; a program that stops it does not.
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert told == ""
    assert psutil.wait_procs(children, timeout=HANG)[1] == []
    # On a busy machine the small parts may be done by then; the last takes a minute.
    assert not list((tmp_path / "kept").rglob("files-*.done"))


def digest_of_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch, changed: str = "") -> str:
    """Return the digest of a module of a package in the place of this one, of modules that import each other."""
    (folder / "inner").mkdir(parents=True)
    modules = {
        "kernel": "from dedup.inner import (\n    tables,\n)\n",
        "inner/__init__": "",
        "inner/tables": "def late():\n    from dedup.far import SIZE\n",
        "far": "from dedup.kernel import of_a_circle\n",
        "other": "",
    }
    for name, text in modules.items():
        added = "SIZE = 1\n" if name == changed else ""
        (folder / f"{name}.py").write_text(text + added, encoding="utf-8")
    monkeypatch.setattr(compiled_cache, "PACKAGE", folder)
    return compiled_cache.sources_digest(folder / "kernel.py")


@pytest.mark.parametrize(
    ("changed", "is_noticed"),
    [("kernel", True), ("inner/__init__", True), ("inner/tables", True), ("far", True), ("other", False)],
)
def test_code_is_compiled_again_when_a_module_behind_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, is_noticed: bool
) -> None:
    before = digest_of_kernel(tmp_path / "before/dedup", monkeypatch)
    after = digest_of_kernel(tmp_path / "after/dedup", monkeypatch, changed)
    assert (after != before) is is_noticed


@pytest.fixture
def look_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Say in which folders compiled code is looked for."""

    def look_in(*folders: Path) -> None:
        monkeypatch.setattr(compiled_cache, "folders", lambda: iter(folders))
        compiled_cache.kept_folder.cache_clear()

    yield look_in
    compiled_cache.kept_folder.cache_clear()


def test_code_is_kept_where_it_can_be_written(look_in: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    look_in(tmp_path / "file" / "below", tmp_path / "home")
    assert compiled_cache.kept_folder() == tmp_path / "home"


def test_code_that_is_there_is_taken_though_other_folders_come_first(
    look_in: Callable[..., None], tmp_path: Path
) -> None:
    name = next(iter(PARTS))
    look_in(tmp_path / "image")
    compiled_cache.mark_kept(name)
    look_in(tmp_path / "first", tmp_path / "image")
    assert compiled_cache.kept_folder() == tmp_path / "image"
    assert compiled_cache.is_kept(name)
    assert not compiled_cache.is_kept("files")


def test_code_of_another_machine_is_no_reason(look_in: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "spaced-0123456789abcdef.done").touch()
    look_in(tmp_path / "first", tmp_path / "image")
    assert compiled_cache.kept_folder() == tmp_path / "first"
