"""PDFs: their text as it is read, without what is there for the page alone; what gives none says why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dedup.signature.pages import analyse_page, read_page
from dedup.signature.pdf import MOST_PAGES, PdfError, is_pdf, paragraphs, read_pdf
from tests.pdfs import ENCRYPTED, in_lines, pdf
from tests.texts import ENGLISH, document

STORY = f"{ENGLISH} {document(60)} extraordinarily notwithstanding representatives"


def text_of(*pages: Sequence[str], **values: str) -> str:
    return read_pdf(pdf(*pages, **values)).main.text


def test_a_paragraph_is_one_line_and_its_words_are_whole() -> None:
    lines = in_lines(STORY, 30)
    assert any(line.endswith("-") for line in lines)
    found = text_of(["The ferry", *lines])
    assert found.splitlines() == ["The ferry", STORY]


def test_lines_of_scripts_without_spaces_are_joined_without() -> None:
    lines = [
        "渡船将于四月一日恢复运行，市政府在星期三宣布。渡船自去年秋",
        "天洪水以来一直停运。",
        "The well-",
        "known ferry",
    ]
    assert list(paragraphs(lines)) == [
        "渡船将于四月一日恢复运行，市政府在星期三宣布。渡船自去年秋天洪水以来一直停运。",
        "The well-",
        "known ferry",
    ]
    assert list(paragraphs(["the ferry is a well-", "known one in these"])) == [
        "the ferry is a well-known one in these"
    ]


def test_of_headers_and_footers_the_first_stays() -> None:
    stories = [document(30, n) for n in range(4)]
    pages = [["Annual report", *in_lines(story), f"Page {n + 3} of 12"] for n, story in enumerate(stories)]
    first, *others = stories
    assert text_of(*pages).split() == " ".join(["Annual report", first, "Page 3 of 12", *others]).split()


@pytest.mark.parametrize("line", ["Dose: {} mg", "Total {},50", "Section {}.1"])
def test_what_differs_from_page_to_page_stays(line: str) -> None:
    last = [line.format(n) for n in (5, 250, 40, 3)]
    found = text_of(*([*in_lines(document(30, n)), each] for n, each in enumerate(last)))
    assert all(each in found for each in last)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("The ferry", "The ferry"),
        ("", ""),
        ("Microsoft Word - ferry.doc", ""),
        ("untitled", ""),
        ("report_v3.indd", ""),
    ],
)
def test_a_title_is_none_if_it_is_the_name_of_a_file(written: str, title: str) -> None:
    main, found, _ = read_page(pdf(in_lines(STORY), title=written))
    assert (found, main.how, main.page_characters) == (title, "pdf", len(main.text))


def test_what_was_filled_in_is_text_that_is_not_compared() -> None:
    one, other = (read_pdf(pdf(in_lines(STORY), filled=name)) for name in ("Ada Wong", "Bo Larsen"))
    assert one.main.text.replace("Ada Wong", "Bo Larsen") == other.main.text != one.main.text
    assert one.problem == "it has fields of a form, or notes on its pages, for which its text does not speak"
    with pytest.raises(PdfError, match="kept, and not compared: it has fields of a form"):
        analyse_page(pdf(in_lines(STORY), filled="Ada Wong"))


def test_how_many_pages_there_are_of_a_kind_is_no_running_line() -> None:
    few, many = (text_of(*(["Voucher", f"no {n + 1_001}"] for n in range(count))) for count in (3, 30))
    assert len(many) > 9 * len(few)


def test_what_stands_on_some_of_the_pages_stays_on_each() -> None:
    pages = [[*in_lines(document(30, n)), "failed" if n in (2, 5) else "passed"] for n in range(8)]
    assert text_of(*pages).count("failed") == 2


def test_no_number_is_divided() -> None:
    assert list(paragraphs(["the jetties that are numbered 1\u2010", "5 in these lists"])) == [
        "the jetties that are numbered 1-5 in these lists"
    ]


@pytest.mark.parametrize(
    "page", [b"\xef\xbb\xbf<title>%PDF-1.4</title>", b" <!-- %PDF-1.4 -->", b"The mark is <b>%PDF-1.4</b>"]
)
def test_a_page_about_pdf_is_none(page: bytes) -> None:
    assert not is_pdf(page)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (ENCRYPTED, "encrypted_pdf"),
        (pdf([]), "scanned_pdf"),
        (pdf(["Scanned by X"], ["Scanned by X"], is_drawn=True), "scanned_pdf"),
        (pdf(*[["Digitised by a library, for readers at home, not for sale"]] * 4, is_drawn=True), "scanned_pdf"),
        (pdf(in_lines(STORY))[:300], "damaged_pdf"),
        (b"%PDF-1.7\n", "damaged_pdf"),
        (pdf(*[["one"]] * (MOST_PAGES + 1)), "long_pdf"),
    ],
)
def test_what_gives_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(PdfError) as found:
        read_pdf(data)
    assert found.value.reason == reason


def test_a_few_words_without_a_drawing_are_a_text() -> None:
    assert text_of(["Closed on Sundays"]) == "Closed on Sundays"
