"""The image: built and run where Docker or Podman works, and its steps taken one by one where they do not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.crawling import pages_in
from tests.docs.pages import ROOT
from tests.localsite import LocalSite, article
from tests.waiting import HANG

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

DOCKERFILE = ROOT / "Dockerfile"
# Folders of the image that have a place of their own where the steps are taken.
_FOLDERS = re.compile(r"(?<![\w.])/(app|data)\b")
_BUILD = 1_800
STORY = article("The ferry runs again", words=300)
ARGUMENTS = ("-L", "INFO", "-s", "AUTOTHROTTLE_ENABLED=False")


class Step(NamedTuple):
    """An instruction of the file."""

    name: str
    value: str


def steps() -> Iterator[Step]:
    lines = (line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            yield Step(*line.strip().split(maxsplit=1))


@cache
def program() -> str | None:
    """Docker or Podman, if one works here."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def run(command: list[str], folder: Path, environment: Mapping[str, str], timeout: float = HANG) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def site() -> LocalSite:
    return LocalSite({"/": STORY, "/robots.txt": b""})


class Taken:
    """The steps of the file, taken in folders of their own, with what is installed here in the place of downloads."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        self.folder = folder
        venv.create(folder / "venv", with_pip=False)
        own = sysconfig.get_path("purelib", vars={"base": str(folder / "venv")})
        # Its packages are found, the project that is installed among them for editing is not.
        installed = [each for each in sys.path if each.endswith("site-packages")]
        Path(own, "installed.pth").write_text("\n".join(installed), encoding="utf-8")
        # pip makes no program of what it finds installed.
        scrapy = folder / "venv" / "bin" / "scrapy"
        scrapy.write_text(f"#!{folder}/venv/bin/python\nfrom scrapy.cmdline import execute\nexecute()\n")
        scrapy.chmod(0o755)
        self.environment = {
            "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PIP_NO_INDEX": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
        }
        self.entry: list[str] = []
        self.check = "false"
        (folder / "data").mkdir()

    def take(self, step: Step) -> None:
        getattr(self, f"_{step.name.lower()}")(self._placed(step.value))

    def _placed(self, text: str) -> str:
        return _FOLDERS.sub(lambda found: str(self._root / found[1]), text)

    def _from(self, image: str) -> None:
        assert re.fullmatch(r"python:3\.\d+-slim", image)

    def _workdir(self, folder: str) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)

    def _copy(self, words: str) -> None:
        *sources, target = words.split()
        kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        for source in sources:
            assert f"!{source}" in kept, f"{source} is ignored"
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, self.folder / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (self.folder / target).mkdir(exist_ok=True)
                shutil.copy(ROOT / source, self.folder / target)

    def _run(self, command: str) -> None:
        # Users are the machine's own.
        if not command.startswith("useradd "):
            run(["sh", "-c", command], self.folder, self.environment, _BUILD)

    def _env(self, values: str) -> None:
        self.environment |= dict(each.split("=", 1) for each in values.split())

    def _user(self, name: str) -> None:
        made = [step.value for step in steps() if step.value.startswith("useradd ")]
        assert any(f" {name} " in command for command in made), f"nobody makes the user {name}"

    def _volume(self, folder: str) -> None:
        assert Path(folder).is_dir()

    def _healthcheck(self, words: str) -> None:
        self.check = words.partition("CMD ")[2]

    def _entrypoint(self, words: str) -> None:
        self.entry = json.loads(words)


@pytest.mark.skipif(program() is not None, reason="the image itself is built and run")
def test_the_steps_of_the_image_make_a_crawler(tmp_path: Path) -> None:
    taken = Taken(tmp_path)
    for step in steps():
        taken.take(step)
    assert taken.folder == tmp_path / "data"
    with site() as there:
        command = [*taken.entry, "-a", f"url={there.url}", *ARGUMENTS]
        told = run(command, taken.folder, taken.environment)
        assert "kept          1 page" in told
        assert "kept          1 page   1 unchanged" in run(command, taken.folder, taken.environment)
    assert len(pages_in(f"sqlite:///{tmp_path / 'data' / 'crawl.db'}")) == 1
    run(["sh", "-c", taken.check], taken.folder, taken.environment)
    listed = run([str(Path(taken.entry[0]).with_name("dedup")), "duplicates"], taken.folder, taken.environment)
    assert "documents" in listed


@pytest.mark.skipif(program() is None, reason="neither Docker nor Podman works here: apt-get install podman")
def test_the_image_is_built_and_crawls(tmp_path: Path) -> None:
    name = str(program())
    image = "scrapy-neardup-test"
    run([name, "build", "--tag", image, str(ROOT)], ROOT, os.environ, _BUILD)
    assert run([name, "run", "--rm", "--entrypoint", "id", image, "-un"], tmp_path, os.environ).strip() == "crawler"
    with site() as there:
        command = [name, "run", "--rm", "--network", "host", image, "-a", f"url={there.url}", *ARGUMENTS]
        assert "kept          1 page" in run(command, tmp_path, os.environ)


def test_the_python_of_the_image_is_one_that_the_project_names() -> None:
    [image] = [step.value for step in steps() if step.name == "FROM"]
    version = image.removeprefix("python:").removesuffix("-slim")
    assert f"Python :: {version}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_crawl_of_the_compose_file_waits_for_a_database_in_utf_8() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install -r requirements/docs.txt")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert services["crawl"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert services["crawl"]["environment"]["SCRAPY_PROJECT"] == "cluster"
    assert "UTF8" in services["database"]["environment"]["POSTGRES_INITDB_ARGS"]
