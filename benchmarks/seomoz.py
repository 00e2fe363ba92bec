"""The simhash of seomoz, by its binding simhash-pybind, in a process of its own.

Its package has the name of PyPI simhash, so that both cannot be imported by one program. `make bench` puts it into
a folder of its own. `python -m benchmarks.seomoz LANGUAGE` reads texts as JSON and prints how many a second it signs.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.processes import PROJECT, output_of, rate

FOLDER = Path(sys.prefix) / "seomoz"
"""Where it is installed."""

_WORD = re.compile(r"\w+")


def is_installed() -> bool:
    """Say whether it can be measured."""
    return (FOLDER / "simhash").is_dir()


def rate_of(language: str, texts: list[str]) -> float:
    """Return how many texts a second it signs.

    Args:
        language: "english" for shingles of words, anything else for shingles of characters.
        texts: the texts.
    """
    path = os.pathsep.join((str(FOLDER), str(PROJECT)))
    command = [sys.executable, "-m", "benchmarks.seomoz", language]
    return float(output_of(command, environment={"PYTHONPATH": path}, given=json.dumps(texts)))


def _measure(language: str, texts: list[str]) -> float:
    simhash = import_module("simhash")

    def sign(text: str) -> object:
        # As its README does: shingles of four tokens, the first bytes of MD5.
        tokens = _WORD.findall(text.lower()) if language == "english" else list(text)
        return simhash.compute([simhash.unsigned_hash(" ".join(each).encode()) for each in simhash.shingle(tokens)])

    sign(texts[0])
    return rate(sign, texts)


if __name__ == "__main__":
    print(_measure(sys.argv[1], json.load(sys.stdin)))
