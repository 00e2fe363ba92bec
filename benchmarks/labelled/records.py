"""Pages of records: real ones from packages, in templates of made-up sites.

Two records in one template are two things, however much of the page is the template's; a record in
another frame, or with small edits, is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.labelled.blocks import HEADING, ITEM, PARAGRAPH, ROW, Block, Page
from benchmarks.labelled.frames import site_of
from benchmarks.labelled.page_sets import Document, PageSet
from benchmarks.labelled.records_data import Record, WorldData
from benchmarks.labelled.records_de import GERMAN
from benchmarks.labelled.records_en import ENGLISH
from benchmarks.labelled.records_zh import CHINESE
from benchmarks.labelled.sets import LabelledWriter, make_each

TEMPLATES = Path(__file__).with_name("templates")

_RECORDS: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = ENGLISH | GERMAN | CHINESE
_MOST_RECORDS = 32
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
        return Page(title.format(**record), tuple(blocks), " ".join(map(str, record.values())))

    def long_page(self, record: Record) -> Page:
        """Fill in the fields, and add the general part that is on every second page of a site."""
        page = self.page(record)
        lines = (TEMPLATES / "long" / f"{self.language}-{self.half}.txt").read_text(encoding="utf-8").splitlines()
        return replace(page, blocks=(*page.blocks, *(block for line in lines for block in _blocks_of(line, {}))))


def read_template(path: Path) -> Template:
    """Read a template: two settings, then its lines."""
    half, layout, *lines = path.read_text(encoding="utf-8").splitlines()
    return Template(path.stem, half.partition(": ")[2], layout.partition(": ")[2], tuple(lines))


def all_templates() -> list[Template]:
    """Read all templates, by their names."""
    return [read_template(path) for path in sorted(TEMPLATES.glob("*.txt"))]


def records_of(template: Template, data: WorldData, time: int = 0) -> Iterator[Record]:
    """Make the records of a template; each time other ones, but for those that are all in a package."""
    seed = f"records {template.name} {time}" if time else f"records {template.name}"
    return _RECORDS[template.name](data, Random(seed))


def build(out: Path, cache: Path) -> Iterator[LabelledWriter]:
    """Make a set of each template."""
    data = WorldData(cache)
    return make_each(
        "records", ((template.name, partial(_make_set, template, data, out)) for template in all_templates())
    )


def _make_set(template: Template, data: WorldData, out: Path) -> LabelledWriter:
    language, _, subject = template.name.partition("-")
    writer = LabelledWriter(out / template.half / f"records-{template.name}", subject, language)
    records = [record for _, record in zip(range(_MOST_RECORDS), records_of(template, data), strict=False)]
    documents = [
        Document(f"r{at:02}", page_of(template, record, at), str(record.get("series", "")))
        for at, record in enumerate(records)
    ]
    pages = PageSet(writer, documents, site_of(language, template.name, template.layout), f"records {template.name}")
    pages.add_originals()
    pages.add_copies(documents)
    for at, record in enumerate(records):
        if at % 5 == 1 and "price" in record:
            # Who looks for the price of today misses the page, who looks for the thing does not.
            changed = page_of(template, record | {"price": records[at - 1]["price"]}, at)
            pages.add_undecided(documents[at], changed, "other price")
    pages.add_others("other record")
    return writer


def page_of(template: Template, record: Record, at: int) -> Page:
    """Fill in a template.

    Args:
        template: the template.
        record: what it is filled in with.
        at: the record's number, by which some pages have a general part and others have none.
    """
    # Long pages, where the record's share is smaller, are more alike; all of a series are long, or none.
    is_long = Random(f"long {template.name} {record.get('series', at)}").random() < 0.4
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
