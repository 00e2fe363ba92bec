"""Pages of records in templates of made-up sites.

Two records in one template are two things, however much of the page is the template's; a record in
another frame, or with small edits, is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.labelled.page_sets import Document, PageSet
from benchmarks.labelled.pages import HEADING, ITEM, PARAGRAPH, ROW, Block, Page, site_of
from benchmarks.labelled.records_data import Record, WorldData, world_data
from benchmarks.labelled.records_de import GERMAN
from benchmarks.labelled.records_en import ENGLISH
from benchmarks.labelled.records_zh import CHINESE
from benchmarks.labelled.sets import LabelledWriter, Source

TEMPLATES = Path(__file__).with_name("templates")

_RECORDS: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = ENGLISH | GERMAN | CHINESE
_MOST_RECORDS = 32
_SIGNS = {"=": HEADING, "-": ITEM, "|": ROW}


@dataclass(frozen=True)
class Template(Source):
    """A page with fields; its name is what it is about.

    Attributes:
        layout: that of the site that it is the template of.
        lines: the title and the lines after it: `= heading`, `- item`, `| cell | cell`, paragraphs; `{field}` is
            filled in, and `@field` repeats the line for each of a list.
    """

    layout: str
    lines: tuple[str, ...]

    def fill(self, writer: LabelledWriter, cache: Path) -> None:
        """Add pages of records, copies, and other records."""
        records = list(islice(records_of(self, world_data(cache)), _MOST_RECORDS))
        documents = [
            Document(f"r{at:02}", page_of(self, record, at), str(record.get("series", "")))
            for at, record in enumerate(records)
        ]
        home = site_of(self.language, self.title, self.layout)
        pages = PageSet(writer, documents, home, f"records {self.title}")
        pages.add_originals()
        pages.add_copies()
        pages.add_others()

    def page(self, record: Record) -> Page:
        """Fill in the fields."""
        title, *rest = self.lines
        blocks = [block for line in rest for block in _blocks_of(line, record)]
        return Page(title.format(**record), tuple(blocks), " ".join(map(str, record.values())))

    def long_page(self, record: Record) -> Page:
        """Fill in the fields, and add the general part that is on every second page of a site."""
        page = self.page(record)
        lines = (TEMPLATES / "long" / f"{self.language}-{self.half}.txt").read_text(encoding="utf-8").splitlines()
        return replace(page, blocks=(*page.blocks, *(block for line in lines for block in _blocks_of(line, {}))))


def read_template(path: Path) -> Template:
    """Read a template: two settings, then its lines."""
    half, layout, *lines = path.read_text(encoding="utf-8").splitlines()
    language, _, subject = path.stem.partition("-")
    return Template(half.partition(": ")[2], language, subject, layout.partition(": ")[2], tuple(lines))


def all_templates() -> list[Template]:
    """Read all templates, by their names."""
    return [read_template(path) for path in sorted(TEMPLATES.glob("*.txt"))]


def records_of(template: Template, data: WorldData, time: int = 0) -> Iterator[Record]:
    """Make the records of a template; each time other ones, but for those that are all kept beside it."""
    seed = f"records {template.title} {time}" if time else f"records {template.title}"
    return _RECORDS[template.title](data, Random(seed))


def page_of(template: Template, record: Record, at: int) -> Page:
    """Fill in a template.

    Args:
        template: the template.
        record: what it is filled in with.
        at: the record's number, by which some pages have a general part and others have none.
    """
    # Long pages, where the record's share is smaller, are more alike; all of a series are long, or none.
    is_long = Random(f"long {template.title} {record.get('series', at)}").random() < 0.4
    return template.long_page(record) if is_long else template.page(record)


def _blocks_of(line: str, record: Record) -> Iterator[Block]:
    kind = _SIGNS.get(line[0], PARAGRAPH)
    rest = line if kind == PARAGRAPH else line[1:].strip()
    if rest.startswith("@"):
        for value in record[rest[1:]]:
            cells = value if isinstance(value, tuple) else (value,)
            yield Block(kind, tuple(map(str, cells)))
    else:
        fields = rest.split("|") if kind == ROW else [rest]
        yield Block(kind, tuple(field.strip().format(**record) for field in fields))
