"""Pages that lead elsewhere by themselves: a refresh, a script, a note that something has moved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_SPACE = r"[\t\n\f\r ]*+"
# The steps of the HTML standard, section 4.2.5.3: what leads nowhere else reloads the page.
_REFRESH = re.compile(
    rf"{_SPACE}(?=[0-9.])(?P<seconds>[0-9]{{0,9}}+)[0-9.]*+(?:{_SPACE}[;,]|[\t\n\f\r ]){_SPACE}"
    rf"(?:url{_SPACE}={_SPACE})?+(?:\"(?P<double>[^\"]*+)|'(?P<single>[^']*+)|(?P<bare>.++))",
    re.IGNORECASE | re.DOTALL,
)

_AROUND_SIGNS = re.compile(r" ?([^\w ]) ?")
# In scripts with white space between words alone: `location = "..."`, `window.location.replace("...")`. What is added,
# query and fragment, leads to the same page.
_MOVE = (
    r"(?:(?:window|document|self|top|parent|this|globalThis)\.)*+location"
    r"(?:(?:\.href)?=|\.(?:assign|replace)\()(?P<quote>[\"'`])(?P<target>[^\"'`<>$]++)(?P=quote)"
    r"(?:\+(?:window\.|document\.)?location\.(?:search|hash))*+\)?;?"
)
_ANY_MOVE = re.compile(rf"(?<![\w.]){_MOVE}(?!\+)")
_ONLY_MOVE = re.compile(
    r"(?:<!--)?(?:(?:window\.)?(?P<later>setTimeout\(|onload=)(?:function\(\)\{|\(\)=>\{?|[\"'`]))?"
    rf"{_MOVE}(?(later)[\"'`]?\}}?(?:,(?P<milliseconds>[0-9]{{1,9}}))?\)?;?)(?://-->)?"
)
# `var target = "..."; location = target`.
_NAMED = re.compile(
    r"(?:var|let|const) (?P<name>[A-Za-z_$][\w$]*+)=(?P<text>(?P<quote>[\"'`])[^\"'`<>$]*+(?P=quote));?"
)
_LONGEST_SCRIPT = 2_000

# What servers and frameworks write about a redirect.
_MOVED = re.compile(
    r"\b(?:document|page|site|resource|url)\s+(?:has|have|was|is)\s+(?:\w+\s+){0,3}(?:moved|relocated)\b"
    r"|\bmoved\s+(?:permanently|temporarily|here|to)\b|\bredirect(?:ed|ing)\b|\bredirig\w+|\bweitergeleitet\b"
    r"|\bSeite\b.{0,40}\b(?:verschoben|umgezogen)\b|\bpage\b.{0,40}\bdéplacée\b"
    r"|\bp[áa]gina\b.{0,40}\b(?:movid[ao]|trasladad[ao]|spostata|mudou)\b|перенаправ|страница.{0,40}переме[щс]"
    r"|跳转|跳轉|重定向|已移动|移転|転送|リダイレクト",
    re.IGNORECASE | re.DOTALL,
)


class Refresh(NamedTuple):
    """Where a page leads by itself.

    Attributes:
        seconds: after how long.
        target: the address, as it stands there.
    """

    seconds: float
    target: str


def read_refresh(content: str) -> Refresh | None:
    """Read what a refresh leads to, by its header or meta element; None where it only reloads the page."""
    found = _REFRESH.match(content)
    target = "" if found is None else (found["double"] or found["single"] or found["bare"] or "").strip()
    return Refresh(float(found["seconds"] or 0), target) if found is not None and target else None


def read_script(script: str) -> Refresh | None:
    """Read where a script leads that does nothing else; None for any other."""
    found = None if len(script) > _LONGEST_SCRIPT else _ONLY_MOVE.fullmatch(_compact(script))
    return found and Refresh(int(found["milliseconds"] or 0) / 1000, found["target"].replace("\\/", "/"))


def find_in_scripts(scripts: Sequence[str]) -> str | None:
    """Return the one address that some scripts lead to, on whatever condition; None for none, or several."""
    if sum(map(len, scripts)) > _LONGEST_SCRIPT:
        return None
    found = {move["target"] for script in scripts for move in _ANY_MOVE.finditer(_compact(script))}
    return found.pop().replace("\\/", "/") if len(found) == 1 else None


def says_moved(text: str) -> bool:
    """Return whether a short text is a note that something has moved."""
    return _MOVED.search(text) is not None


def _compact(script: str) -> str:
    compact = _AROUND_SIGNS.sub(r"\1", " ".join(script.split()))
    named = _NAMED.match(compact)
    if named is None:
        return compact
    return re.sub(rf"(?<=[=(]){re.escape(named['name'])}\b", lambda _: named["text"], compact[named.end() :])
