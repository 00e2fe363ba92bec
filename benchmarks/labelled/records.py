"""Pages of records: real ones from packages, in templates of made-up sites.

Two records in one template are two things, however much of the page is the template's; a record in
another frame, or with small edits, is a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.labelled.blocks import HEADING, ITEM, PARAGRAPH, ROW, Block, Page
from benchmarks.labelled.edits import COPIES, reworked
from benchmarks.labelled.frames import Site, page_html, site_of
from benchmarks.labelled.records_data import Record, WorldData
from benchmarks.labelled.records_de import GERMAN
from benchmarks.labelled.records_en import ENGLISH
from benchmarks.labelled.records_zh import CHINESE
from benchmarks.labelled.sets import COPY, OTHER, UNDECIDED, LabelledWriter, hardest_pairs
from dedup.errors import InputError

TEMPLATES = Path(__file__).with_name("templates")

_RECORDS: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = ENGLISH | GERMAN | CHINESE
_MOST_RECORDS = 32
_MOST_OF_A_LABEL = 60
_LEAST_ALIKE = 0.35
_SIGNS = {"=": HEADING, "-": ITEM, "|": ROW}


@dataclass(frozen=True)
class Template:
    """A page with fields.

    Attributes:
        name: language and subject, such as de-job.
        half: learn or confirm.
        layout: that of the site that it is the template of.
        lines: the title and the lines after it: `= heading`, `- item`, `| cell | cell`, paragraphs; `{field}` is
            filled in, and `@field` repeats the line for each of a list.
    """

    name: str
    half: str
    layout: str
    lines: tuple[str, ...]

    @property
    def language(self) -> str:
        """Two letters."""
        return self.name[:2]

    def page(self, record: Record) -> Page:
        """Fill in the fields."""
        title, *rest = self.lines
        blocks = [block for line in rest for block in _blocks_of(line, record)]
        return Page(title.format(**record), tuple(blocks))


def read_template(path: Path) -> Template:
    """Read a template: two settings, then its lines."""
    half, layout, *lines = path.read_text(encoding="utf-8").splitlines()
    return Template(path.stem, half.partition(": ")[2], layout.partition(": ")[2], tuple(lines))


def build(out: Path, cache: Path) -> Iterator[LabelledWriter]:
    """Make a set of each template."""
    data = WorldData(cache)
    for path in sorted(TEMPLATES.glob("*.txt")):
        template = read_template(path)
        try:
            yield _make_set(template, data, out)
        except InputError as error:
            print(f"records {template.name}: left out: {error}", file=sys.stderr)


def _make_set(template: Template, data: WorldData, out: Path) -> LabelledWriter:
    language, _, subject = template.name.partition("-")
    folder = out / template.half / f"records-{template.name}"
    writer = LabelledWriter(folder, subject, language)
    found = _RECORDS[template.name](data, Random(f"records {template.name}"))
    records = [record for _, record in zip(range(_MOST_RECORDS), found, strict=False)]
    pages = [template.page(record) for record in records]
    home = site_of(language, template.name, template.layout)
    for at, page in enumerate(pages):
        writer.add_page(f"r{at:02}", page_html(page, home, _others(pages, at), f"{template.name} {at}"), page.text)
    copies = _add_copies(writer, template, pages, home)
    _add_others(writer, pages, records, copies)
    return writer


def _add_copies(writer: LabelledWriter, template: Template, pages: Sequence[Page], home: Site) -> dict[str, str]:
    """Add two copies of each page, and reworked ones of some; return the last copy of each."""
    last = {}
    kinds = list(COPIES)
    for at, page in enumerate(pages):
        key, random = f"r{at:02}", Random(f"copies {template.name} {at}")
        for of in range(2):
            kind = kinds[(2 * at + of + at // 5) % len(kinds)]
            copy = COPIES[kind](page, random, writer.language)
            layout = "print" if kind == "print" else None
            # An edit may be on the same site, where the frame stays but for what it names of others.
            has_moved = kind in ("frame", "print", "mirror") or random.random() < 0.5
            site = site_of(writer.language, f"{template.name} {at} {of}", layout) if has_moved else home
            html = page_html(copy, site, _others(pages, at), f"{template.name} {at} {of}")
            writer.add_page(f"{key}-{kind}{of}", html, copy.text, key)
            if sum(pair["label"] == COPY for pair in writer.pairs.values()) < _MOST_OF_A_LABEL:
                writer.add_pair(key, f"{key}-{kind}{of}", COPY, f"{kind}, other site" if has_moved else kind)
            last[key] = f"{key}-{kind}{of}"
        if at % 5 == 0:
            copy = reworked(page, random, writer.language)
            writer.add_page(f"{key}-reworked", page_html(copy, home, _others(pages, at), f"{key} re"), copy.text, key)
            writer.add_pair(key, f"{key}-reworked", UNDECIDED, "reworked")
    return last


def _add_others(
    writer: LabelledWriter, pages: Sequence[Page], records: Sequence[Record], copies: dict[str, str]
) -> None:
    """Add pairs of different records, most of them on one site."""
    texts = [(f"r{at:02}", page.text) for at, page in enumerate(pages)]
    series = {f"r{at:02}": record.get("series") for at, record in enumerate(records)}
    hard = hardest_pairs(texts, _LEAST_ALIKE, 10_000)
    in_series = [pair for pair in hard if series[pair[0]] and series[pair[0]] == series[pair[1]]][:20]
    rest = [pair for pair in hard if pair not in in_series]
    most = _MOST_OF_A_LABEL - len(in_series)
    chosen = rest if len(rest) <= most else [rest[at * len(rest) // most] for at in range(most)]
    for a, b in in_series:
        writer.add_pair(a, b, OTHER, "next of a series")
    for at, (a, b) in enumerate(chosen):
        if at % 5 == 4:
            writer.add_pair(a, copies[b], OTHER, "other record, changed")
        else:
            writer.add_pair(a, b, OTHER, "other record")


def _others(pages: Sequence[Page], at: int) -> list[Page]:
    return [*pages[:at], *pages[at + 1 :]]


def _blocks_of(line: str, record: Record) -> Iterator[Block]:
    kind = _SIGNS.get(line[0], PARAGRAPH)
    rest = line if kind == PARAGRAPH else line[1:].strip()
    if rest.startswith("@"):
        for value in record[rest[1:]]:
            cells = value if isinstance(value, tuple) else (value,)
            yield Block(kind, tuple(map(str, cells)))
    else:
        cells = rest.split("|") if kind == ROW else [rest]
        yield Block(kind, tuple(cell.strip().format(**record) for cell in cells))
