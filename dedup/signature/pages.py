"""Pages to text, title and signature, whether they are HTML or PDF."""

from __future__ import annotations

from dedup.signature.extraction import MainText, find_text, parse_html, sign_page
from dedup.signature.pdf import PdfError, is_pdf, read_pdf
from dedup.signature.schemes import Scheme
from dedup.signature.signature import Signature


def read_page(page: bytes | str) -> tuple[MainText, str]:
    """Return the main text of a page, and its title, or "".

    Raises:
        MarkupError: it has more tags and attributes than are read.
        PdfError: it is a PDF that gives no text, or none that speaks for all that it holds.
        SettingsError: it is a PDF, and the library that reads them is not installed.
    """
    if isinstance(page, bytes) and is_pdf(page):
        pdf = read_pdf(page)
        if pdf.problem:
            raise PdfError("", pdf.problem)
        return pdf.main, pdf.title
    tree = parse_html(page)
    # Finding the text takes what is no text out of the tree.
    title = "" if tree is None else tree.findtext(".//title") or ""
    return find_text(tree), title


def text_of(page: bytes | str) -> str:
    """Return the main text of a page, see `read_page`; "" if it has none."""
    return read_page(page)[0].text


def analyse_page(page: bytes | str, scheme: Scheme | None = None) -> tuple[str, Signature]:
    """Return a page's main text, see `read_page`, and its signature, see `sign_page`."""
    main, _ = read_page(page)
    return main.text, sign_page(main, scheme)
