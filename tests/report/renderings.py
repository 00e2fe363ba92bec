"""What a report says, read from its renderings."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from dedup.console import percent, readable
from dedup.report.html.page import write_in_any_format
from dedup.report.render import Format
from dedup.store.database import Database
from tests.crawls import report_on

_PAIR = re.compile(r"  (\S+(?: kept)?) +(\d+)%  (\S+)  (.*?)(?: \(\+[\d,]+ words\))?$")
_PLACE = re.compile(r"\[-(\S+)-\] \{\+(\S+)\+\}")
_COUNTS = {
    "seen": r"^(?:read|fetched) +(\d+)",
    "kept": r"^kept +(\d+)",
    "dropped": r"^dropped +(\d+)",
    "exact": r"^dropped .* (\d+) exact",
    "near": r"^dropped .* (\d+) near",
    "flagged": r"^flagged +(\d+)",
}
_FLAGGED = "duplicates, those whose differences may matter first"
_TEXTS = ("verdict", "rule", "dropped", "original", "cluster")


def written(
    database: Database,
    form: Format,
    stream: io.StringIO | None = None,
    *,
    is_whole: bool = False,
    **selection: object,
) -> str:
    stream = stream or io.StringIO()
    with report_on(database, **selection) as report:
        write_in_any_format(report, database, form, stream, is_whole=is_whole)
    return stream.getvalue()


def facts_of(database: Database, **selection: object) -> Any:
    return json.loads(written(database, Format.JSON, **selection))


def data_of(html: str) -> Any:
    """What the scripts of a page are given."""
    packed = re.search('id="data">([^<]*)<', html)
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def data_in(page: Path) -> Any:
    return data_of(page.read_text(encoding="utf-8"))


def keys_of(data: Any) -> list[str]:
    """The last letters of the addresses in a page."""
    return [data["texts"][number][-1] for number in data["rows"]["dropped"]]


def section(table: str, heading: str) -> list[str]:
    """The lines below a heading of a table, up to the next empty one."""
    blocks = (block.splitlines() for block in table.split("\n\n"))
    return next((lines[1:] for lines in blocks if lines and lines[0].startswith(heading)), [])


def pairs_in(lines: Iterable[str]) -> list[tuple[str, ...]]:
    """The cells of the pairs in lines of a table, with the original last; addresses whole."""
    original, rows = "", []
    for line in lines:
        if pair := _PAIR.match(line):
            rows.append((pair[1], pair[2], pair[4], urljoin(original, pair[3]), original))
        elif not line.startswith(" "):
            original = line
    return rows


def told_by_table(table: str) -> dict[str, Any]:
    """What a table says of what JSON and a page say, too."""
    named = ([line.split() for line in section(table, heading)] for heading in ("host ", "duplicates  largest"))
    hosts, clusters = ([cells for cells in rows if cells[0] != "and"] for rows in named)
    counts = [re.search(pattern, table, re.MULTILINE) for pattern in _COUNTS.values()]
    flagged = section(table, _FLAGGED)
    return {
        "pairs": pairs_in(section(table, "all duplicates, by original") + section(table, "similar pages, kept")),
        "counts": [int(each[1]) if each else 0 for each in counts],
        # Of one host the totals tell all.
        "hosts": [[host.replace("(none)", ""), *map(int, cells[:4])] for host, *cells in hosts] or None,
        "clusters": {leader: int(count) for count, leader in clusters},
        "flagged": [row[3] for row in pairs_in(flagged)],
        "differing": _PLACE.findall("\n".join(flagged)),
    }


def told_by_page(html: str) -> dict[str, Any]:
    data = data_of(html)
    columns = {name: [data["texts"][cell] for cell in data["rows"][name]] for name in _TEXTS}
    columns |= {name: data["rows"][name] for name in ("similarity", "is_flagged")}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    flagged = [number for number, row in enumerate(rows) if row["is_flagged"]]
    clusters = Counter(readable(row["cluster"]) for row in rows if row["verdict"].endswith("duplicate"))
    places = [place for number in flagged for place in data["differences"][str(number)]["shown"][:2]]
    return {
        "pairs": [_pair(row | {"reason": data["rules"][row["rule"]]}) for row in rows],
        "counts": [data["counts"][name] for name in _COUNTS],
        "hosts": data["hosts"] if data["host_count"] > 1 else None,
        "clusters": {leader: count for leader, count in clusters.items() if count > 1},
        "flagged": [readable(rows[number]["dropped"]) for number in flagged],
        "differing": [(removed, added) for _, removed, added, *_ in places],
    }


def told_by_json(facts: Any) -> dict[str, Any]:
    exact, near = (facts["totals"][f"{kind} duplicate"]["documents"] for kind in ("exact", "near"))
    sums = [facts["sums"][name] for name in ("seen", "kept", "dropped")]
    clusters = {readable(each["leader"]): each["duplicates"] for each in facts["clusters"]}
    places = [place for each in facts["flagged"] for place in each["difference"]["places"][:2]]
    return {
        "pairs": list(map(_pair, facts["duplicates"] + facts["similar"])),
        "counts": [*sums, exact, near, len(facts["flagged"])],
        "hosts": [list(host.values())[:5] for host in facts["hosts"]] if facts["host_count"] > 1 else None,
        "clusters": {leader: count for leader, count in clusters.items() if count > 1},
        "flagged": [readable(each["dropped"]) for each in facts["flagged"]],
        "differing": [(place["removed"], place["added"]) for place in places],
    }


def _pair(row: dict[str, Any]) -> tuple[str, ...]:
    """A row of a page or of JSON as a table has it."""
    keys = row.get("dropped") or row["document"], row["original"]
    alike = percent(row["similarity"], is_same=row["verdict"] == "exact duplicate").rstrip("%")
    return row["verdict"].split()[0], alike, row["reason"], *map(readable, keys)
