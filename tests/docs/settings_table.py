"""The lists of docs/settings.md: made of what the settings say of themselves, and compared with them.

`python -m tests.docs.settings_table` writes them anew.
"""

from __future__ import annotations

import re

from crawler.settings import CrawlerSettings
from dedup.rules.declared import Settings
from dedup.rules.settings import DedupSettings, RuleSettings
from dedup.stage.item_settings import ItemSettings
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "settings.md"
TYPED: tuple[type[Settings], ...] = (RuleSettings, DedupSettings, ItemSettings, CrawlerSettings)
KNOWN = frozenset(kind.full_name(name) for kind in TYPED for name in kind.names())
_LIST = re.compile(r"<!-- (\w+Settings) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)
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


def _short(default: str) -> str:
    names = default.split(", ")
    return ", ".join([*names[:_FEW_NAMES], "..."]) if len(names) > _FEW_NAMES else default


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
