"""Markup of a page that trafilatura leaves out together with its text: it becomes markup of which the text is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedup.signature.normalise import clean

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt")
_CONTROLS = ("button", "input", "select", "textarea")
_UNSEEN = ("annotation", "annotation-xml", "mphantom")
# What holds paragraphs.
_CONTAINERS = ("article", "body", "center", "div", "main", "section")
# Bytes of UTF-8 outside of what is chosen and filled in.
_TEXT_OF_A_FIELDSET = 80
_TEXTS = ".//text()[not(ancestor::label or ancestor::button or ancestor::select or ancestor::textarea)]"


def open_markup(tree: HtmlElement) -> None:
    """Change what of a page would be left out, in place.

    Args:
        tree: the page.
    """
    # Looked for at once, since most pages have none of it but buttons.
    for element in list(tree.iter("button", "dl", "fieldset", "math")):
        _OPENED[str(element.tag)](element)


def _open_button(button: HtmlElement) -> None:
    """Make a plain part of a button that is all of a heading: it opens an answer. One beside a title does not."""
    heading = next(button.iterancestors(*_HEADINGS), None)
    outer, inner = (button, next(button.iter(*_HEADINGS), None)) if heading is None else (heading, button)
    if inner is None or not (letters := _letters(inner)) or letters != _letters(outer) or not _is_followed(outer):
        return
    for part in button.iter():
        # By names such as "accordion-button" a text is left out, too.
        if part.get("aria-hidden") != "true":
            part.attrib.clear()
    button.tag = "div" if heading is None else "span"


def _letters(element: HtmlElement) -> str:
    return "".join(filter(str.isalpha, element.text_content()))


def _is_followed(element: HtmlElement) -> bool:
    """Return whether something stands after a heading or after what holds it."""
    parent = element.getparent()
    return element.getnext() is not None or (parent is not None and parent.getnext() is not None)


def _open_list(terms: HtmlElement) -> None:
    """Make plain parts of the groups of a list of terms: for its name or its links a group may be left out."""
    for group in list(terms.iter("div")):
        is_group = next(group.iterancestors("dl", "dt", "dd")).tag == "dl"
        if is_group and next(group.iter("dt", "dd"), None) is not None:
            group.attrib.clear()
            group.tag = "span"


def _open_fieldset(fieldset: HtmlElement) -> None:
    """Make a plain part of a fieldset that holds text, and a paragraph of its legend; others are to be filled in."""
    is_filled_in = next(fieldset.iter(*_CONTROLS), None) is not None
    if is_filled_in and len(" ".join(" ".join(fieldset.xpath(_TEXTS)).split()).encode()) < _TEXT_OF_A_FIELDSET:
        return
    fieldset.tag = "div"
    for legend in fieldset.iter("legend"):
        legend.tag = "p"


def _write_out(formula: HtmlElement) -> None:
    """Put the text of a formula in its place as it is shown, or its source where nothing is."""
    sources = [_text(source) for source in formula.iter("annotation", "annotation-xml")]
    for part in list(formula.iter(*_UNSEEN)):
        part.clear(keep_tail=True)
    text = _text(formula) or next(filter(None, sources), clean(formula.get("alttext", "")))
    is_block = formula.get("display") == "block"
    # It may be hidden beside its picture.
    while (parent := formula.getparent()) is not None and parent.tag == "span" and _is_alone(formula, parent):
        formula = parent
    is_paragraph = parent is not None and parent.tag in _CONTAINERS and (is_block or _is_alone(formula, parent))
    formula.clear(keep_tail=True)
    formula.tag, formula.text = "p" if is_paragraph else "span", text


def _text(element: HtmlElement) -> str:
    return " ".join(clean(" ".join(element.itertext())).split())


def _is_alone(element: HtmlElement, parent: HtmlElement) -> bool:
    """Return whether there is nothing else in the parent, but the same as a picture or drawn by styles."""
    tails = "".join(part.tail or "" for part in parent)
    is_drawn = all(each is element or each.tag == "img" or each.get("aria-hidden") == "true" for each in parent)
    return is_drawn and not f"{parent.text or ''}{tails}".strip()


_OPENED = {"button": _open_button, "dl": _open_list, "fieldset": _open_fieldset, "math": _write_out}
