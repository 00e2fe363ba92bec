"""The table of rules in docs/how-a-page-is-decided.md: made of the rules, and compared with them.

`python -m tests.docs.rules_table` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from dedup.rules.table import Rule
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "how-a-page-is-decided.md"
_BEGIN, _END = "<!-- rules -->\n\n", "\n\n<!-- end of rules -->"


def table() -> str:
    """Return the rules in their order, below their verdicts, each with what people read."""
    groups = groupby(Rule, key=lambda rule: rule.verdict)
    return "\n\n".join(f"**{verdict.capitalize()}**\n\n{_rows(rules)}" for verdict, rules in groups)


def _rows(rules: Iterable[Rule]) -> str:
    return "\n".join(f"- `{rule.short}`: {rule.says}" for rule in rules)


def table_of(page: str) -> str:
    """Return the table that a page has between the two comments."""
    return page.split(_BEGIN)[1].split(_END, maxsplit=1)[0]


def renewed(page: str) -> str:
    """Return a page with the table made anew."""
    before, behind = page.split(_BEGIN, maxsplit=1)[0], page.split(_END)[1]
    return f"{before}{_BEGIN}{table()}{_END}{behind}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
