"""`make docs`: the pages, in `docs/` and elsewhere, as a site; a dead link is an error."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from posixpath import relpath

_ROOT = Path(__file__).resolve().parents[1]
_DOCS = _ROOT / "docs"
_GATHERED = _ROOT / "build" / "docs"
_OUTSIDE = {
    "README.md": "index.md",
    **{name: name.lower() for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")},
    **{(path := found.relative_to(_ROOT).as_posix()): path for found in (_ROOT / "examples").rglob("README.md")},
}
"""Where in the site a page is that is not in `docs/`."""

_LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
# What the tests do with a block, see tests/docs/pages.py.
_MARK = re.compile(r"^(```\w+) .+$", re.MULTILINE)


def build() -> int:
    """Gather the pages where mkdocs.yml expects them, build the site, and return the exit status."""
    shutil.rmtree(_GATHERED, ignore_errors=True)
    shutil.copytree(_DOCS, _GATHERED, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page in (*_DOCS.glob("*.md"), *map(_ROOT.joinpath, _OUTSIDE)):
        path = str(_path_in_site(page))
        target = _GATHERED / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_as_in_site(page, path), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=_ROOT, check=False).returncode  # noqa: S603 -- no word of it is given


def _as_in_site(page: Path, path: str) -> str:
    """Return a page with links as they lead in the site, and fences that name their language alone."""

    def moved(link: re.Match[str]) -> str:
        target = _path_in_site((page.parent / link[2]).resolve())
        if target is None:
            sys.exit(f"{page.relative_to(_ROOT)}: {link[2]} is no file of the site")
        return f"{link[1]}{relpath(target, str(Path(path).parent))}{link[3]}"

    return _MARK.sub(r"\1", _LINK.sub(moved, page.read_text(encoding="utf-8")))


def _path_in_site(target: Path) -> str | None:
    """Return the path of a file in the site; None for one that is not in it."""
    if target.is_dir():
        target /= "README.md"
    if target.is_relative_to(_DOCS) and target.is_file():
        return target.relative_to(_DOCS).as_posix()
    return _OUTSIDE.get(target.relative_to(_ROOT).as_posix()) if target.is_relative_to(_ROOT) else None


if __name__ == "__main__":
    sys.exit(build())
