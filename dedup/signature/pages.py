"""Pages to text, title and signature, whether they are HTML or PDF."""

from __future__ import annotations

from typing import NamedTuple

from dedup.signature.extraction import MainText, find_text, parse_html, sign_page
from dedup.signature.pdf import PdfError, is_pdf, read_pdf
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature


class PageText(NamedTuple):
    """What a page says.

    Attributes:
        main: its main text.
        title: its title, or "".
        problem: why it is kept without being compared; "": it is compared.
    """

    main: MainText
    title: str
    problem: str = ""


def read_page(page: bytes | str) -> PageText:
    """Read a page.

    Raises:
        MarkupError: it has more tags and attributes than are read.
        PdfError: it is a PDF that gives no text.
        SettingsError: it is a PDF, and the library that reads them is not installed.
    """
    if isinstance(page, bytes) and is_pdf(page):
        pdf = read_pdf(page)
        return PageText(pdf.main, pdf.title, pdf.problem)
    tree = parse_html(page)
    # Finding the text takes what is no text out of the tree.
    title = "" if tree is None else tree.findtext(".//title") or ""
    return PageText(find_text(tree), title)


def text_of(page: bytes | str) -> str:
    """Return the main text of a page, see `read_page`; "" if it has none."""
    return read_page(page).main.text


def analyse_page(page: bytes | str, scheme: Scheme | None = None) -> tuple[str, Signature]:
    """Return a page's main text, see `read_page`, and its signature, see `sign_page`.

    Raises:
        PdfError: as there, and of a PDF that is not compared.
    """
    read = read_page(page)
    if read.problem:
        raise PdfError("", f"kept, and not compared: {read.problem}")
    return read.main.text, sign_page(read.main, scheme)
