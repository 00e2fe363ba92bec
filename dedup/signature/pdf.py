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
    from pypdfium2 import PdfDocument, PdfPage

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
_FEWEST_PAGES, _NEARLY_ALL = 3, 0.8
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
# Characters: of a page that was scanned, or is all drawn; of stamps on a picture; where objects are looked at.
_LITTLE, _STAMPED, _MAY_BE_STAMPS = 40, 400, 1_000
# Of glyphs that no table names PDFium gives the numbers.
_NAMELESS = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f]")
# Of the longest lines of a page: what is shorter is the last line of a paragraph, or a title.
_FULL_LINE = 0.75


class PdfError(PageError):
    """A PDF gives no text, or none that speaks for all that it holds.

    Attributes:
        reason: why, in one word as for a page that is skipped; "" of one that is to be kept without being compared.
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
        problem: why its text does not speak for all that it holds, so that it is not to be compared; "" if it does.
    """

    main: MainText
    title: str
    author: str
    problem: str


def is_pdf(data: bytes | str) -> bool:
    """Return whether bytes are a PDF."""
    if not isinstance(data, bytes):
        return False
    before, mark, _ = data[: _MARK_WITHIN + len(_MARK)].partition(_MARK)
    # A page may speak of it.
    return bool(mark) and b"<" not in before


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
            main, problem = _main_of(document) if with_text else (MainText(), "")
    except PdfiumError as error:
        is_locked = "password" in str(error).lower()
        reason, message = ("encrypted_pdf", "it takes a password") if is_locked else ("damaged_pdf", str(error))
        raise PdfError(reason, message) from None
    title, author = ("" if _NO_TITLE.fullmatch(each) else each for each in (title, author))
    return Pdf(main, title, author, problem)


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


def _main_of(document: PdfDocument) -> tuple[MainText, str]:
    """Return the text of a PDF, and why that does not speak for all that it holds, or ""."""
    from pypdfium2 import raw  # noqa: PLC0415

    problems = ["an XFA form"] if document.get_formtype() == raw.FORMTYPE_XFA_FULL else []
    problems += ["attached files"] if document.count_attachments() else []
    # What was filled in stands in the text then, as far as it is text.
    document.init_forms()
    if (count := len(document)) > MOST_PAGES:
        raise PdfError("long_pdf", f"{count:,} pages, {MOST_PAGES:,} are read at most")
    pages: list[list[str]] = []
    read: list[_PageRead] = []
    size = 0
    for number in range(count):
        page = _read_page(document, number)
        size += len(page.text)
        if size > MOST_CHARACTERS:
            raise PdfError("long_pdf", f"more than {MOST_CHARACTERS:,} characters")
        pages.append([" ".join(line.split()) for line in _LINE.findall(page.text) if line.strip()])
        read.append(page._replace(text=""))
    left = without_running_lines(pages)
    # Stamps such as that of the program that has scanned them are the same in very many.
    lengths = [sum(map(len, page)) for page in left]
    if any(page and not rest for page, rest in zip(pages, left, strict=True)):
        # Of vouchers with numbers it says something how many there are.
        left = pages
    main = clean("\n".join(paragraph for page in left for paragraph in paragraphs(page)))
    bare = sum(each.is_drawn and length < _LITTLE for each, length in zip(read, lengths, strict=True))
    if not main or 2 * bare > count:
        raise PdfError("scanned_pdf", "hardly any text, or none, beside pictures of its pages")
    is_scan = any(each.is_picture and length < _STAMPED for each, length in zip(read, lengths, strict=True))
    problems += ["pages that are pictures"] if is_scan else []
    problems += ["fields of a form, or notes on its pages"] if any(each.is_annotated for each in read) else []
    problems += ["letters that its fonts do not name"] if any(each.is_nameless for each in read) else []
    problem = f"it has {' and '.join(problems)}, for which its text does not speak" if problems else ""
    return MainText(main, "pdf", len(main)), problem


class _PageRead(NamedTuple):
    """What a page holds: its text; whether it is drawn on, or a picture; notes, and letters without names."""

    text: str
    is_drawn: bool
    is_picture: bool
    is_annotated: bool
    is_nameless: bool


def _read_page(document: PdfDocument, number: int) -> _PageRead:
    from pypdfium2 import raw  # noqa: PLC0415

    page = document[number]
    is_annotated = _is_annotated(document, page)
    if is_annotated and document.formenv is not None:
        page.flatten()
        page.close()
        page = document[number]
    text_page = page.get_textpage()
    text = text_page.get_text_bounded()
    text_page.close()
    objects = list(page.get_objects()) if len(text) < _MAY_BE_STAMPS else []
    area = page.get_width() * page.get_height()
    pictures = (each.get_bounds() for each in objects if each.type == raw.FPDF_PAGEOBJ_IMAGE)
    is_picture = any((right - left) * (top - bottom) > area / 2 for left, bottom, right, top in pictures)
    is_drawn = any(each.type != raw.FPDF_PAGEOBJ_TEXT for each in objects)
    page.close()
    return _PageRead(text, is_drawn, is_picture, is_annotated, _NAMELESS.search(text) is not None)


def _is_annotated(document: PdfDocument, page: PdfPage) -> bool:
    """Return whether a page holds more than links and signatures beside what is printed on it."""
    from pypdfium2 import raw  # noqa: PLC0415

    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        is_quiet = kind in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
        if kind == raw.FPDF_ANNOT_WIDGET and document.formenv is not None:
            is_quiet = raw.FPDFAnnot_GetFormFieldType(document.formenv, annotation) == raw.FPDF_FORMFIELD_SIGNATURE
        raw.FPDFPage_CloseAnnot(annotation)
        if not is_quiet:
            return True
    return False


def without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Return the lines of pages without headers and footers, of which the first one of its kind stays.

    These stand among the first or the last two lines of nearly all pages, the same but for one number that grows with
    the pages. What differs otherwise says something, and stays.
    """
    found = Counter(kind for number, page in enumerate(pages) for kind in set().union(*_outer(page, number).values()))
    running = {kind for kind, times in found.items() if times >= max(_FEWEST_PAGES, _NEARLY_ALL * len(pages))}
    seen: set[str] = set()
    left: list[list[str]] = []
    for number, page in enumerate(pages):
        mine = {place: kinds & running for place, kinds in _outer(page, number).items()}
        left.append([line for place, line in enumerate(page) if not mine.get(place, set()) & seen])
        seen.update(*mine.values())
    return left


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
        # No number is divided: 1-5 is another one than 15.
        return first[:-1] + ("" if first[-2:-1].isalpha() and line[0].isalpha() else "-") + line
    if first[-1] == "-" and first[-2:-1].isalpha() and line[0].islower():
        return first + line
    is_unspaced = _UNSPACED.match(first[-1]) and _UNSPACED.match(line[0])
    return first + ("" if is_unspaced else " ") + line


def _width(line: str) -> int:
    return len(line) + len(_UNSPACED.findall(line))
