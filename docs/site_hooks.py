"""What `make docs` needs beside the pages: those outside of `docs/`, links between the two, plain names of fences."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parents[1]
_DOCS = _ROOT / "docs"
_OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"} | {
    path.relative_to(_ROOT).as_posix(): path.relative_to(_ROOT).as_posix()
    for path in (_ROOT / "examples").rglob("README.md")
}
"""Where in the site a file stands that is not in `docs/`."""

_LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
# What the tests do with a block, see tests/docs/pages.py.
_MARK = re.compile(r"^(```\w+) .+$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand elsewhere."""
    for path, place in _OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(_ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the pages stand in the site, and fences name their language alone."""
    source = Path(str(page.file.abs_src_path)).parent
    here = PurePosixPath(page.file.src_uri).parent

    def placed(link: re.Match[str]) -> str:
        place = _place_of((source / link[2]).resolve())
        return link[0] if place is None else f"{link[1]}{relpath(place, here)}{link[3]}"

    return _MARK.sub(r"\1", _LINK.sub(placed, markdown))


def _place_of(target: Path) -> str | None:
    """Return where a file stands in the site; None for one that is not in it, which the build then complains of."""
    if target.is_dir():
        target /= "README.md"
    if target.is_relative_to(_DOCS):
        return target.relative_to(_DOCS).as_posix()
    return _OUTSIDE.get(target.relative_to(_ROOT).as_posix()) if target.is_relative_to(_ROOT) else None
