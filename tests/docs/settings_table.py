"""The lists of docs/settings.md and the names of fields in docs/your-project.md: made by the code, compared with it.

`python -m tests.docs.settings_table` rewrites both.
"""

from __future__ import annotations

import re

from crawler.settings import CrawlerSettings
from dedup.fields import HTML_FIELDS, ITEM_TEXT_FIELDS, KEY_FIELDS, SUMMARY_FIELDS, TEXT_FIELDS, TITLE_FIELDS
from dedup.rules.declared import Settings
from dedup.rules.settings import DedupSettings, RuleSettings
from dedup.stage.item_settings import ItemSettings
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "settings.md"
PAGE_OF_NAMES = ROOT / "docs" / "your-project.md"
TYPED: tuple[type[Settings], ...] = (RuleSettings, DedupSettings, ItemSettings, CrawlerSettings)
KNOWN = frozenset(kind.full_name(name) for kind in TYPED for name in kind.names())
_LIST = re.compile(r"<!-- (\w+Settings) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)
_NAMES = re.compile(r"(?<=<!-- names -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)
_FEW_NAMES = 3


def list_of(kind: type[Settings]) -> str:
    """Return the lines of a class of settings, without inherited ones."""
    inherited = {name for base in kind.__bases__ if base in TYPED for name in base.names()}
    return "\n".join(
        f"- `{kind.full_name(name)}`{f' ({_short(default)})' if default else ''}: {says}"
        for name, default, says in kind.described()
        if name not in inherited
    )


def lists_of(page: str) -> dict[str, str]:
    """Return the lists that a page has, by the names of the classes."""
    return {match[1]: match[2] for match in _LIST.finditer(page)}


def renewed(page: str) -> str:
    """Return a page with all lists made anew."""
    kinds = {kind.__name__: kind for kind in TYPED}
    return _LIST.sub(lambda found: f"<!-- {found[1]} -->\n\n{list_of(kinds[found[1]])}\n\n<!-- end -->", page)


def list_of_names() -> str:
    """Return the lines of the names under which the parts of a document are found, the preferred first."""
    own = tuple(name for name in TEXT_FIELDS if name not in SUMMARY_FIELDS)
    further = tuple(name for name in ITEM_TEXT_FIELDS if name not in TEXT_FIELDS)
    text = f"{_quoted(own)}; in items also {_quoted(further)}; if there is none of these, {_quoted(SUMMARY_FIELDS)}"
    named = {
        "text_field": text,
        "title_field": _quoted(TITLE_FIELDS),
        "html_field": _quoted(HTML_FIELDS),
        "key_field": _quoted(KEY_FIELDS),
    }
    return "\n".join(f"- `{ItemSettings.full_name(name)}`: {names}" for name, names in named.items())


def names_of(page: str) -> str:
    """Return the lines of names that a page has."""
    found = _NAMES.search(page)
    return found[0] if found else ""


def with_names(page: str) -> str:
    """Return a page with the names as they are now."""
    return _NAMES.sub(lambda _: list_of_names(), page)


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _short(default: str) -> str:
    names = default.split(", ")
    return ", ".join([*names[:_FEW_NAMES], "..."]) if len(names) > _FEW_NAMES else default


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE_OF_NAMES.write_text(with_names(PAGE_OF_NAMES.read_text(encoding="utf-8")), encoding="utf-8")
