"""The pinned versions are those that the package allows, on each Python that it names."""

from __future__ import annotations

import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement

from tests.docs.pages import ROOT

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_ALLOWED = list(map(Requirement, chain(_PROJECT["dependencies"], *_PROJECT["optional-dependencies"].values())))
_LINES = chain.from_iterable(path.read_text().splitlines() for path in (ROOT / "requirements").glob("*.txt"))
_PINNED = [Requirement(line) for line in _LINES if line and not line.startswith(("#", "-"))]
_VERSIONS = [
    each.rpartition(" ")[2] for each in _PROJECT["classifiers"] if each.startswith("Programming") and "." in each
]


@pytest.mark.parametrize("version", _VERSIONS)
def test_each_python_installs_pinned_versions_that_are_allowed(version: str) -> None:
    for allowed in _ALLOWED:
        is_needed = allowed.marker is None or allowed.marker.evaluate({"python_version": version})
        for pinned in (each for each in _PINNED if each.name.lower() == allowed.name.lower()):
            assert (pinned.marker is None or pinned.marker.evaluate({"python_version": version})) is is_needed, pinned
            assert allowed.specifier.contains(str(pinned.specifier).removeprefix("==")), pinned
