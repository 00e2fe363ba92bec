"""What packages hold, as documents: help pages, manual pages, descriptions; and texts without their markup."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from lxml import html

from benchmarks.labelled.packages import APT_HELPER, run_tool
from benchmarks.labelled.pages import CODE, HEADING, ITEM, PARAGRAPH, ROW, Block, Page

_KINDS_OF_HTML = {"h1": HEADING, "h2": HEADING, "h3": HEADING, "h4": HEADING, "p": PARAGRAPH, "pre": CODE, "tr": ROW}
_NUMBER = re.compile(r"^(?:图 |Figure |Abbildung )?\d+(?:\.\d+)+\.?\s+")
_FEWEST_LETTERS_OF_A_FUNCTION = 150

_SPECIAL = {"(bu": "•", "(co": "©", "(em": "—", "(en": "–", "(aq": "'", "(dq": '"', "(lq": "“", "(rq": "”", "(oq": "‘",
    "(cq": "’", "(ti": "~", "(ha": "^", "(rs": "\\", "(mu": "×", "(+-": "±", "(->": "→", "(<=": "≤", "(>=": "≥",
    "(:a": "ä",
    "(:o": "ö", "(:u": "ü", "(:A": "Ä", "(:O": "Ö", "(:U": "Ü", "(ss": "ß", "(Bq": "„", "(Fo": "«", "(Fc": "»",
    "e": "\\", "\\": "\\", "-": "-", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`"}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:f(?:\(..|\[[^\]]*\]|.)|s[-+]?\d|"
    r"\*(?:\(..|\[[^\]]*\]|.)|[hvwlL]'[^']*'|\[([^\]]*)\]|(\(..)|([-e\\ ~0'`])|[&|^:/,%)c]|.)"
)
_FONTS = frozenset(["B", "I", "R", "BI", "BR", "IB", "IR", "RB", "RI", "SM", "SB"])
_BREAKS = frozenset(["PP", "P", "LP", "HP", "TP", "TQ", "IP", "RS", "RE", "sp", "br", "UE", "UR", "ME", "MT", "Sp"])
_CODE_BEGINS, _CODE_ENDS = frozenset(["nf", "EX", "Vb"]), frozenset(["fi", "EE", "Ve"])
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_WITH_TEXT = frozenset(("IP", "UR", "TP"))

_STANZA = re.compile(r"^Package: (\S+)\n(?:.*\n)*?Description-(?!md5)\w+: (.*)\n((?: .*\n)*)", re.MULTILINE)
_LISTED = re.compile(r"^\s+[-*]|^  ")
_NAMES = {
    "en": r"task-|tesseract-|libboost|php8|fcitx|texlive|gir1|qml|xserver|tryton|dict-|gnome|kde|python3-django",
    "de": r"aspell|firefox|thunderbird|gnome|gcc|xserver|games|education|science|mate|xfce|php|libboost|libqt|qml|gir",
    "zh": r".",
}

REST, MARKDOWN, HTML = "rest", "markdown", "html"
"""Kinds of markup."""

_REST = [
    (re.compile(r"^\.\. (?:_[^\n]*:|\|)[^\n]*$", re.MULTILINE), ""),
    (re.compile(r"^( *)\.\. (?:versionadded|versionchanged|deprecated):: *", re.MULTILINE), r"\1Since version "),
    (re.compile(r"^ *\.\. (?:toctree|contents|index|highlight|currentmodule|image|figure)::[^\n]*$", re.MULTILINE), ""),
    (re.compile(r"^( *)\.\. [\w:.+-]+::", re.MULTILINE), r"\1"),
    (
        re.compile(
            r"^ +:(?:maxdepth|caption|hidden|titlesonly|glob|alt|width|tags|tickets|linenos|noindex|no-index|depth|"
            r"local|members|undoc-members|show-inheritance|backlinks|class|height|align|target|name)\b[^\n]*$",
            re.MULTILINE,
        ),
        "",
    ),
    (re.compile(r"^([=\-~^\"'#*+.`:_<>])\1{2,} *$", re.MULTILINE), ""),
    (re.compile(r":[\w:+.-]+:`([^`<]*?)\s*<[^>`]*>`"), r"\1"),
    (re.compile(r":[\w:+.-]+:`[!~]?([^`]*)`"), r"\1"),
    (re.compile(r"`([^`<]*?)\s*<[^>`]*>`__?"), r"\1"),
    (re.compile(r"`+([^`]+)`+_*"), r"\1"),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])"), r"\1"),
    (re.compile(r"::$", re.MULTILINE), ":"),
]
_MARKDOWN = [
    (re.compile(r"\A---\n.*?\n---\n", re.DOTALL), ""),
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"^(?:```|~~~)[^\n]*$", re.MULTILINE), ""),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^#+ *", re.MULTILINE), ""),
    (re.compile(r"^[ |:-]*-{3,}[ |:-]*$", re.MULTILINE), ""),
    (re.compile(r"^\||\|$", re.MULTILINE), ""),
    (re.compile(r" *\| *"), " "),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"`+([^`]*)`+"), r"\1"),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
]
_LINES = "|".join(f"//{name}" for name in ["p", "li", "h1", "h2", "h3", "h4", "pre", "td", "th", "dt"])


def office_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages of LibreOffice's help by their paths; where one describes many functions, each of them too."""
    for path, area in _office_areas(folder, "text/*/*/*.html"):
        key = "-".join(path.parts[-3:]).removesuffix(".html")
        blocks = list(_html_blocks(area))
        if len(blocks) > 1 and blocks[0].kind == HEADING:
            yield key, Page(blocks[0].text, tuple(blocks[1:]))


def office_functions(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield what the help says of each function of its spreadsheet, in the order of the pages."""
    for path, area in _office_areas(folder, "text/scalc/01/040601*.html"):
        for number, section in enumerate(area.iterdescendants("h2")):
            blocks = []
            for element in section.itersiblings():
                # What is said of another function may be in a box of its own.
                if element.tag in ("h1", "h2") or element.find(".//h2") is not None:
                    break
                blocks += list(_html_blocks(element))
            name = " ".join(section.text_content().split())
            if sum(len(block.text) for block in blocks) >= _FEWEST_LETTERS_OF_A_FUNCTION:
                yield f"{path.stem}-{number}", Page(name, tuple(blocks))


def _office_areas(folder: Path, pattern: str) -> Iterator[tuple[Path, html.HtmlElement]]:
    for path in sorted(folder.rglob(pattern)):
        area = html.fromstring(path.read_bytes()).find(".//div[@id='DisplayArea']")
        if area is not None:
            yield path, area


def docbook_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield pages that DocBook's stylesheets made, by their names, without the numbers of their sections."""
    for path in sorted(folder.rglob("*.html")):
        body = html.fromstring(path.read_bytes()).find("body")
        if body is None:
            continue
        for frame in body.xpath("div[@class='navheader' or @class='navfooter']"):
            frame.drop_tree()
        blocks = [Block(each.kind, (_NUMBER.sub("", each.text),)) for each in _html_blocks(body)]
        if len(blocks) > 1 and blocks[0].kind == HEADING:
            yield path.stem, Page(blocks[0].text, tuple(blocks[1:]))


def _html_blocks(area: html.HtmlElement) -> Iterator[Block]:
    for element in area.iter(*_KINDS_OF_HTML):
        if element.tag == "tr":
            cells = tuple(" ".join(cell.text_content().split()) for cell in element.iter("td", "th"))
        elif any(parent.tag == "tr" for parent in element.iterancestors("tr", "div")):
            continue
        else:
            cells = (" ".join(element.text_content().split()),)
        kind = (
            ITEM if element.getparent() is not None and element.getparent().tag == "li" else _KINDS_OF_HTML[element.tag]
        )
        if any(cells):
            yield Block(kind, cells)


def man_pages(folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages of a folder by their names; links and pages that are only another name of one are left out."""
    for path in sorted(folder.rglob("*.gz")):
        if path.is_symlink():
            continue
        source = gzip.decompress(path.read_bytes()).decode(errors="replace")
        if not re.search(r"^\.so ", source, re.MULTILINE) and re.search(r"^\.TH ", source, re.MULTILINE):
            yield path.name.removesuffix(".gz"), _page_of(source)


def _page_of(source: str) -> Page:
    # What stands before the title are definitions.
    lines = source[re.search(r"^\.TH ", source, re.MULTILINE).start() :].splitlines()  # type: ignore[union-attr]
    title = " ".join(_arguments(lines[0][4:])[:2])
    return Page(title, tuple(_man_blocks(lines[1:])))


def _man_blocks(lines: list[str]) -> Iterator[Block]:
    gathered: list[str] = []
    is_code = is_skipped = False
    for line in [*lines, ".PP"]:
        macro, _, rest = line[1:].strip().partition(" ") if line[:1] in (".", "'") else ("", "", line)
        if is_skipped or macro in ("de", "ig", "ds", "rm"):
            is_skipped = macro in ("de", "ig") or (is_skipped and not line.startswith(".."))
            continue
        if macro in ("SH", "SS") or macro in _BREAKS | _CODE_BEGINS | _CODE_ENDS or not line.strip():
            yield from _gathered(gathered, is_code)
            gathered = []
            is_code = (is_code or macro in _CODE_BEGINS) and macro not in _CODE_ENDS
            if macro in ("SH", "SS"):
                yield Block(HEADING, (_plain(" ".join(_arguments(rest))),))
            elif macro in _WITH_TEXT and rest and not rest.strip().isdigit():
                gathered.append(_plain(_arguments(rest)[0]))
        elif macro in _FONTS:
            gathered.append(_plain(("" if len(macro) == 2 and macro != "SM" else " ").join(_arguments(rest))))
        elif not macro and not line.startswith((".", "'")):
            gathered.append(_plain(line))


def _gathered(lines: list[str], is_code: bool) -> Iterator[Block]:
    text = ("\n" if is_code else " ").join(lines).strip()
    if text:
        yield Block(CODE if is_code else PARAGRAPH, (text,))


def _arguments(rest: str) -> list[str]:
    return [(quoted or bare).replace('""', '"') for quoted, bare in _ARGUMENT.findall(rest)]


def _plain(text: str) -> str:
    def put(found: re.Match[str]) -> str:
        named, two, one = found.groups()
        return _SPECIAL.get(one or two or (f"({named}" if named else ""), "")

    return re.sub(r'\\".*', "", text) if text.startswith('\\"') else _ESCAPE.sub(put, text)


def descriptions(language: str, folder: Path) -> Iterator[tuple[str, Page]]:
    """Yield descriptions by the names of their packages, of families of packages that are much alike."""
    name = {"zh": "zh%5fCN"}.get(language, language)
    files = sorted(folder.glob(f"*_main_i18n_Translation-{name}*"))
    for path in [each for each in files if "security" not in each.name and "updates" not in each.name]:
        text = run_tool([APT_HELPER, "cat-file", str(path)], "descriptions")
        for package, synopsis, body in _STANZA.findall(text):
            if re.match(_NAMES[language], package):
                yield package, Page(f"{package}: {synopsis}", tuple(_description_blocks(body, language)))


def _description_blocks(body: str, language: str) -> Iterator[Block]:
    gathered: list[str] = []
    for line in [*body.splitlines(), " ."]:
        is_listed = bool(_LISTED.match(line[1:]))
        if line == " ." or is_listed:
            if gathered:
                # Chinese has no space where a line ends.
                text = ("" if language == "zh" else " ").join(gathered)
                yield Block(ITEM if text.startswith(("-", "*")) else PARAGRAPH, (text.lstrip("-* "),))
            gathered = []
        if line != " .":
            gathered.append(line.strip())


def plain_text(text: str, markup: str) -> str:
    """Return the text of a document without its markup, at most one empty line between paragraphs."""
    text = text.replace("\r\n", "\n")
    if markup == HTML:
        text = _text_of_html(text)
    for pattern, put in {REST: _REST, MARKDOWN: _MARKDOWN}.get(markup, []):
        text = pattern.sub(put, text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t\xa0]+$", "", unescape(text), flags=re.MULTILINE)).strip()


def _text_of_html(text: str) -> str:
    root = html.fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8"))
    for element in root.xpath(
        "//script|//style|//head|//div[@class='navheader' or @class='navfooter' or @class='toc']"
    ):
        element.drop_tree()
    for element in root.xpath(_LINES):
        element.tail = "\n" + (element.tail or "")
    lines = (" ".join(line.split()) for line in root.text_content().splitlines())
    return "\n".join(line for line in lines if line)
