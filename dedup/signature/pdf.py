"""PDF to text, by PDFium, which is an extra.

It runs in worker processes, whose time and memory are bounded: PDFium is a parser in C++ of what anybody has written.
"""

from __future__ import annotations

import multiprocessing
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from dedup.errors import SettingsError
from dedup.limits import memory_limit, time_limit
from dedup.signature.extraction import MainText, PageError
from dedup.signature.normalise import clean

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MOST_PAGES = 5_000
"""So many pages a PDF may have: some hundred are read a second."""

MOST_CHARACTERS = 20_000_000
"""So much text a PDF may have."""

MOST_SECONDS, MOST_BYTES = 30.0, 500 << 20
"""So long, and with so much memory, a PDF is read in a worker process."""

COSTLY = "costly_pdf"
"""The reason for which a PDF is skipped of which reading takes too much time or memory."""

# Readers look for it there, too.
_MARK, _MARK_WITHIN = b"%PDF-", 1024
_OUTSIDE = 2
_FEWEST_PAGES = 3
# Programs that write the name of a file, or their own, where the title belongs.
_NO_TITLE = re.compile(
    r"\(?anonymous\)?|no title|untitled.*|document ?[0-9]*|enscript output|microsoft .* - .*"
    r"|\S+\.[a-z]{1,5}|.*\.(?:docx?|odt|rtf|tex|dvi|indd|qxd|xlsx?|pptx?|pdf|html?|txt)",
    re.IGNORECASE,
)
_NUMBER = re.compile("(?<![0-9])[0-9]{1,6}(?![0-9])")
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
# What PDFium has for a hyphen that divides a word, and for the end of its line.
_HYPHEN = "\x02"
_DIVIDING = f"{_HYPHEN}\u00ad\u2010"
_LINE = re.compile(f"[^\r\n{_HYPHEN}]+{_HYPHEN}?")
# Characters: of a page that was scanned, or is all drawn; of stamps on it; of the cover of attached files.
_LITTLE, _MAY_BE_STAMPS, _COVER = 40, 1_000, 1_000
# Of the longest lines of a page: what is shorter is the last line of a paragraph, or a title.
_FULL_LINE = 0.75


class PdfError(PageError):
    """A PDF gives no text, or none that speaks for all that it holds.

    Attributes:
        reason: why, in one word as for a page that is skipped; "" where a page is to be kept without being compared.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type[PdfError], tuple[str, str]]:
        return PdfError, (self.reason, str(self))


class Pdf(NamedTuple):
    """What a PDF holds.

    Attributes:
        main: its text, a line for each paragraph.
        title: its title; "" if it has none, or the name of a file.
        author: who wrote it, or "".
    """

    main: MainText
    title: str
    author: str


def is_pdf(data: bytes | str) -> bool:
    """Return whether bytes are a PDF."""
    return isinstance(data, bytes) and _MARK in data[:_MARK_WITHIN] and not data.lstrip().startswith(b"<")


def require_pdfium(what: str) -> None:
    """Refuse to begin where PDFs cannot be read; `what` is what asks for it.

    Raises:
        SettingsError: pypdfium2 is not installed.
    """
    try:
        import pypdfium2  # noqa: F401, PLC0415 -- an extra
    except ModuleNotFoundError:
        raise SettingsError(f"{what} needs a library that is not installed: pip install pypdfium2") from None


def read_pdf(data: bytes, *, with_text: bool = True) -> Pdf:
    """Read a PDF.

    Args:
        data: its bytes.
        with_text: whether its text is wanted.

    Raises:
        PdfError: it is encrypted, damaged, has no text, as what was scanned has none, or too much of it.
        SettingsError: pypdfium2 is not installed.
    """
    require_pdfium("a PDF")
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415

    try:
        with _bounded(), PdfDocument(data) as document:
            title, author = (_about(document, name) for name in ("Title", "Author"))
            main = _main_of(document) if with_text else MainText()
    except PdfiumError as error:
        is_locked = "password" in str(error).lower()
        reason, message = ("encrypted_pdf", "it takes a password") if is_locked else ("damaged_pdf", str(error))
        raise PdfError(reason, message) from None
    return Pdf(main, *("" if _NO_TITLE.fullmatch(each) else each for each in (title, author)))


@contextmanager
def _bounded() -> Iterator[None]:
    """Bound time and memory in a worker process, which may die of it; a process of the user's own may not."""
    if multiprocessing.parent_process() is None:
        yield
        return
    with time_limit(MOST_SECONDS), memory_limit(MOST_BYTES):
        yield


def _about(document: PdfDocument, name: str) -> str:
    try:
        return " ".join(clean(document.get_metadata_value(name)).split())
    except UnicodeDecodeError:
        return ""


def _main_of(document: PdfDocument) -> MainText:
    from pypdfium2 import raw  # noqa: PLC0415

    if document.get_formtype() == raw.FORMTYPE_XFA_FULL:
        raise PdfError("", "an XFA form: its text is made by the program that shows it")
    # What was filled in counts.
    document.init_forms()
    if (count := len(document)) > MOST_PAGES:
        raise PdfError("long_pdf", f"{count:,} pages, {MOST_PAGES:,} are read at most")
    pages: list[list[str]] = []
    drawn: list[bool] = []
    size = 0
    for number in range(count):
        text, is_drawn = _read_page(document, number)
        size += len(text)
        if size > MOST_CHARACTERS:
            raise PdfError("long_pdf", f"more than {MOST_CHARACTERS:,} characters")
        pages.append([" ".join(line.split()) for line in _LINE.findall(text) if line.strip()])
        drawn.append(is_drawn)
    pages = list(without_running_lines(pages))
    main = clean("\n".join(paragraph for page in pages for paragraph in paragraphs(page)))
    # Stamps such as that of the program that has scanned them are the same in very many.
    bare = sum(is_drawn and sum(map(len, page)) < _LITTLE for page, is_drawn in zip(pages, drawn, strict=True))
    if not main or 2 * bare > count:
        raise PdfError("scanned_pdf", "hardly any text, or none, beside pictures of its pages")
    if len(main) < _COVER and document.count_attachments():
        raise PdfError("", "a few words and files that are attached to it, which are not read")
    return MainText(main, "pdf", len(main))


def _read_page(document: PdfDocument, number: int) -> tuple[str, bool]:
    """Return the text of a page, and whether it holds anything else, where that is little."""
    from pypdfium2 import raw  # noqa: PLC0415

    page = document[number]
    if document.formenv is not None:
        page.flatten()
        page.close()
        page = document[number]
    text_page = page.get_textpage()
    text = text_page.get_text_bounded()
    text_page.close()
    is_drawn = len(text) < _MAY_BE_STAMPS and any(each.type != raw.FPDF_PAGEOBJ_TEXT for each in page.get_objects())
    page.close()
    return text, is_drawn


def without_running_lines(pages: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the lines of pages without headers and footers, of which the first one of its kind stays.

    These stand among the first or the last two lines of at least half of all pages, the same but for one number that
    grows with the pages. What differs otherwise says something, and stays.
    """
    found = Counter(kind for number, page in enumerate(pages) for kind in set().union(*_outer(page, number).values()))
    running = {kind for kind, times in found.items() if times >= max(_FEWEST_PAGES, len(pages) / 2)}
    seen: set[str] = set()
    for number, page in enumerate(pages):
        mine = {place: kinds & running for place, kinds in _outer(page, number).items()}
        yield [line for place, line in enumerate(page) if not mine.get(place, set()) & seen]
        seen.update(*mine.values())


def _outer(page: Sequence[str], number: int) -> dict[int, set[str]]:
    """Return of each line at the edge of a page what it may have in common with those of other pages."""
    places = {*range(min(_OUTSIDE, len(page))), *range(max(0, len(page) - _OUTSIDE), len(page))}
    return {place: {page[place], *_numbered(page[place], number)} for place in places}


def _numbered(line: str, number: int) -> Iterator[str]:
    """Yield a line with each number in it by how far it is from that of the page."""
    for found in _NUMBER.finditer(line):
        yield f"{line[: found.start()]}\0{int(found[0]) - number}\0{line[found.end() :]}"


def paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs of a page: a line that is clearly shorter than others is the last one of its own."""
    widths = sorted(map(_width, lines))
    full = _FULL_LINE * widths[-1 - len(widths) // 10] if widths else 0
    open_: str = ""
    for line in lines:
        open_ = _joined(open_, line) if open_ else line
        if _width(line) < full and line[-1] not in _DIVIDING:
            yield open_
            open_ = ""
    if open_:
        yield open_


def _joined(first: str, line: str) -> str:
    if first[-1] in _DIVIDING:
        return first[:-1] + line
    if first[-1] == "-" and first[-2:-1].isalpha() and line[0].islower():
        return first + line
    is_unspaced = _UNSPACED.match(first[-1]) and _UNSPACED.match(line[0])
    return first + ("" if is_unspaced else " ") + line


def _width(line: str) -> int:
    return len(line) + len(_UNSPACED.findall(line))
