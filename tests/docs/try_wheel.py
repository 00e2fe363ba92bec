"""`make dist`: the wheel, with each extra in an environment of its own, and the commands of README.md run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from tests.docs.commands import commands_in
from tests.docs.examples import make_examples
from tests.docs.pages import ROOT, blocks_of

_BLOCKS = blocks_of(ROOT / "README.md")
# Those of them that no block of README.md installs, by a module that needs what the extra brings.
_MODULES = {
    "postgresql": "psycopg",
    "remote": "fsspec",
    "spark": "dedup.spark.job",
    "javascript": "playwright",
}


def try_extra(wheel: Path, extra: str, folder: Path) -> None:
    """Install the wheel with an extra ("" for none) into an empty environment, and run what README.md does with it.

    Raises:
        subprocess.CalledProcessError: a command fails.
    """
    print(f"{wheel.name}[{extra}]", flush=True)
    venv.create(folder / "venv", with_pip=True)
    make_examples(folder)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (folder / "settings.py").write_text("".join(each.text for each in _BLOCKS if each.mark == "settings"))
    shutil.copy(folder / "articles.jsonl", folder / "items.jsonl")
    environment = {**os.environ, "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def run(*words: str) -> None:
        subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    run("python", "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]" if extra else str(wheel))
    run("dedup", "--version")
    if not extra:
        run("python", "-c", next(each.text for each in _BLOCKS if each.language == "python" and not each.mark))
    elif extra in _MODULES:
        run("python", "-c", f"import {_MODULES[extra]}")
    for block in _BLOCKS:
        if block.language == "sh" and f"scrapy-neardup[{extra}]" in block.text:
            for words in list(commands_in(block.text))[1:]:
                run(*words)


if __name__ == "__main__":
    [found] = Path(sys.argv[1]).resolve().glob("*.whl")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in ("", *project["optional-dependencies"]):
        with tempfile.TemporaryDirectory() as temporary:
            try_extra(found, name, Path(temporary))
