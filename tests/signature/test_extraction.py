from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement
from trafilatura import bare_extraction

from dedup.signature.extraction import (
    MOST_PAGE_TEXT,
    THIN,
    How,
    MainText,
    find_markdown,
    find_text,
    page_text,
    parse_html,
)
from tests.texts import document

NOTE = "We and our partners keep small files on your machine to remember what you read here. " * 5
STORY = [f"{document(40, seed).capitalize()}." for seed in range(14)]
OWNER = "Copyright 2026 Harbour Games Ltd. All prices include tax. All names of games belong to those who made them."
THINGS = [f"{document(5, f'thing {number}')} {number}" for number in range(60)]
POSTS = [document(40, f"post {number}") for number in range(12)]
SECTIONS = [document(2, f"section {number}") for number in range(150)]


def tree_of(body: str) -> HtmlElement:
    tree = parse_html(f"<html><head><title>Title</title></head><body>{body}</body></html>".encode())
    assert tree is not None
    return tree


def found_in(body: str) -> MainText:
    return find_text(tree_of(body))


def each(texts: list[str], element: str = "p") -> str:
    return "".join(f"<{element}>{text}</{element.partition(' ')[0]}>" for text in texts)


PAGES: dict[str, tuple[str, How | None, list[str], list[str]]] = {
    "a story": (f"<article>{each(STORY)}</article>", "fast", STORY, []),
    "a short story beside others": (
        f"<article>{each(STORY[:2])}</article><aside>{each(STORY[3:5])}</aside>",
        "fast",
        STORY[:2],
        STORY[3:5],
    ),
    "a note alone": (f"<div class='article-content'><p>{NOTE}</p></div>", "fast", [NOTE.strip()], []),
    "a list of short lines": (f"<article><ul>{each(SECTIONS, 'li')}</ul></article>", "fast", SECTIONS, []),
    "a story with control characters": (
        f"<article>{each([f'{text}&#1;' for text in STORY])}</article>",
        "fast",
        STORY,
        [],
    ),
    "a story beside a note that looks like the article": (
        f"<div class='article-content'><p>{NOTE}</p></div><div class='x1'>{each(STORY)}</div>",
        "full",
        STORY,
        [],
    ),
    "all of a page in a form": (
        f"<form><div class='article-content'><p>{NOTE}</p></div><div class='x1'>{each(STORY)}</div></form>",
        "full",
        STORY,
        [],
    ),
    "a story in an aside": (
        f"<nav>Home</nav><div class='note'><p>{NOTE}</p></div><aside><h1>Tide</h1>{each(STORY)}</aside>",
        "page",
        ["Tide", *STORY],
        ["Home"],
    ),
    "a thread": (
        f"<div class='post'><p>{NOTE}</p></div><div class='comments'>{each(POSTS, 'div class=comment')}</div>",
        "page",
        POSTS,
        [],
    ),
    "a product": (
        f"<div class='comments'>{each(THINGS, 'dd')}</div><div><p>{OWNER}</p></div><footer>Terms</footer>",
        "page",
        THINGS,
        ["Terms"],
    ),
    "a listing": (
        f"<p>{OWNER}</p>{each([f'<a href=/{n}>{name}</a>' for n, name in enumerate(THINGS)], 'div class=card')}",
        "page",
        THINGS,
        [],
    ),
    "a menu that looks like the article beside a shorter story": (
        f"<div class='article-content'><ul>{each(SECTIONS, 'li')}</ul></div><div class='x1'>{each(STORY[:4])}</div>",
        "full",
        STORY[:4],
        SECTIONS[:1],
    ),
    "a menu where the full mode finds nothing else": (
        f"<article>{each(SECTIONS)}</article><div class='comments'>{each(POSTS)}</div>",
        "page",
        [*SECTIONS, *POSTS],
        [],
    ),
    "a story in the footer of an article": (
        (
            f"<article><p>Tide</p><footer class='end'>{each(STORY)}<p>By <a href='/a'>Ann</a></p></footer></article>"
            "<footer>Terms</footer>"
        ),
        "fast",
        ["Tide", *STORY],
        ["Terms"],
    ),
    "a story in the footer of the page": (
        f"<nav>Home</nav><main><p>Tide</p></main><footer>{each(STORY)}</footer>",
        "fast",
        ["Tide", *STORY],
        ["Home"],
    ),
    "a story that is all of a footer, without paragraphs": (
        f"<footer><div>{'<br><br>'.join(STORY)}</div></footer>",
        "fast",
        STORY,
        [],
    ),
    "a story beside a footer of sentences": (
        f"<article>{each(STORY[:2])}</article><footer>{each(STORY[3:6])}</footer>",
        "fast",
        STORY[:2],
        STORY[3:6],
    ),
    "a footer of sentences and an owner": (
        f"<main><p>Tide</p></main><footer>{each(STORY)}<p>{OWNER}</p></footer>",
        "fast",
        ["Tide"],
        STORY,
    ),
    "a footer of sentences and links": (
        f"<main><p>Tide</p></main><footer>{each(STORY)}<p><a href='/a'>About</a> <a href='/t'>Terms</a></p></footer>",
        "fast",
        ["Tide"],
        STORY,
    ),
    "a footer of sentences and an address": (
        f"<main><p>Tide</p></main><footer>{each(STORY)}<address>Pier 1</address></footer>",
        "fast",
        ["Tide"],
        STORY,
    ),
    "a footer of links": (
        f"<main><p>Tide</p></main><footer>{each([f'<a href=/>{name}</a>' for name in THINGS])}</footer>",
        "fast",
        ["Tide"],
        THINGS,
    ),
    "a footer of a few sentences": (
        f"<main><p>Tide</p></main><footer>{each(STORY[:2])}</footer>",
        "fast",
        ["Tide"],
        STORY[:2],
    ),
    "navigation alone": ("<nav><a href='/a'>Home</a> <a href='/b'>About us</a></nav>", "fast", ["About us"], []),
    "nothing": ("", None, [], []),
    "a picture": ("<img src='/a.png' alt='Pier'>", None, [], []),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_text_that_is_found_in_one_of_three_ways(page: str) -> None:
    body, how, wanted, unwanted = PAGES[page]
    found = found_in(body)
    assert (found.how, bool(found.text)) == (how, how is not None)
    assert [text for text in wanted if text not in found.text] == []
    assert [text for text in unwanted if text in found.text] == []


BLOCKS = (
    "p",
    "div",
    "li",
    "td",
    "h2",
    "article",
    "aside",
    "form",
    "nav",
    "footer",
    "div class=comment",
    "div role=menu",
)
blocks = st.lists(st.tuples(st.sampled_from(BLOCKS), st.integers(1, 60), st.integers(0, 999)), max_size=8)


@given(blocks)
def test_no_text_is_shorter_than_that_of_the_fast_mode_or_thin_and_short(page: list[tuple[str, int, int]]) -> None:
    body = "".join(each([document(words, seed)], element) for element, words, seed in page)
    found = found_in(body)
    quick = bare_extraction(tree_of(body), fast=True, include_comments=False)
    lines = (quick.text or "").splitlines() if quick is not None else []
    if len("".join(lines)) >= 20 * len(lines):
        assert len(found.text.split()) >= len(" ".join(lines).split())
    assert len(" ".join(found.text.split())) >= THIN * found.page_characters or len(found.text) >= 1_000
    assert found.page_characters == len(page_text(tree_of(body)))
    assert (found.how is None) == (not found.text)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("One <b>wo</b>rd<p>two\n\n words</p>tail", ["One word", "two words", "tail"]),
        ("<ul><li>a<li>b <a href='/'>c</a></ul>", ["a", "b c"]),
        ("<table><tr><td>1<td>2</table>", ["1", "2"]),
        ("text<script>x</script><style>y</style><noscript>z</noscript> more", ["text", "more"]),
        ("<header>h</header><nav>n</nav><footer>f</footer><button>b</button><main>m</main>", ["m"]),
        ("<div role='navigation'>n<p>n</p></div>text", ["text"]),
        ("a longer text<aside>beside</aside><form>a form</form>", ["a longer text"]),
        ("short<aside>an aside that holds most<form>form</form></aside>", ["short", "an aside that holds most"]),
        ("<form role='search'>all of it<aside role='menu'>no</aside></form>", ["all of it"]),
        ("one&#1;&#x202e; word", ["one word"]),
        ("<nav>n</nav>", []),
    ],
)
def test_the_text_of_a_page_is_what_stands_outside_of_its_frame(body: str, lines: list[str]) -> None:
    assert page_text(tree_of(body)).splitlines() == lines


@pytest.mark.parametrize(
    "page",
    [
        "<!doctype html><html lang='en'/><title>Pier</title><body><p>{}</p></html>",
        "<?xml version='1.0' encoding='iso-8859-1'?><html><body><p>{}</p></body></html>",
        "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'x.dtd'>\0<html><p\fclass='a'>{}</p>",
        "<!-- a comment --><p>{}</p>",
        "\ufffe<html><head><title>Pier</title></head><p\uffff>{}</p>",
        "{}",
    ],
)
def test_of_faulty_markup_the_text_is_found(page: str) -> None:
    assert STORY[0] in find_text(parse_html(page.format(STORY[0]))).text


@pytest.mark.parametrize("page", ["", " \n", "<!-- a comment -->", "\0"])
def test_what_holds_nothing_has_no_text(page: str) -> None:
    assert find_text(parse_html(page)) == MainText()


@pytest.mark.parametrize("posts", [90, 2_000])
def test_a_thin_text_comes_with_the_text_of_its_page(posts: int) -> None:
    comments = [document(40, f"comment {number}") for number in range(posts)]
    found = found_in(f"<article>{each(STORY)}</article><div class='comments'>{each(comments)}</div>")
    assert (found.how, comments[0] in found.text) == ("fast", False)
    assert len(found.text) < THIN * found.page_characters
    assert found.page_text.startswith("\n".join([*STORY, comments[0]]))
    assert len(found.page_text) == min(found.page_characters, MOST_PAGE_TEXT)
    assert found_in(f"<article>{each(STORY)}</article>").page_text == ""


def test_on_a_very_long_page_the_full_mode_does_not_look() -> None:
    rows = [document(40, f"row {number}") for number in range(900)]
    found = found_in(f"<div class='article-content'><p>{NOTE}</p></div><div class='x1'>{each(rows)}</div>")
    assert (found.how, found.page_characters > 200_000, rows[-1] in found.text) == ("page", True, True)


# Markdown

BESIDE_LINKS = (
    f"<article><a href='/y'>{STORY[0]} {STORY[1]}</a></article><article><a href='/z'>{STORY[1]}</a></article>"
    f"<div class='x1'>{each([f'<b>{text}</b>' for text in STORY])}</div>"
)


def marked_up(body: str) -> tuple[MainText, str]:
    main = found_in(body)
    return main, find_markdown(tree_of(body), main)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>Bridges</h1><h3>Old ones</h3>", "# Bridges\n\n### Old ones"),
        (
            "<ul><li>one of them<ul><li>a part</li></ul></li><li>and two</li></ul>",
            "- one of them\n  - a part\n- and two",
        ),
        ("<ol><li>one of them</li><li>and two</li></ol>", "1. one of them\n2. and two"),
        (
            "<table><tr><th>Name</th><th>Length</th></tr><tr><td>Old|new</td><td>9 m</td></tr></table>",
            "| Name | Length | \n|---|---|\n| Old\\|new | 9 m |",
        ),
        ("<pre><code>if a_b:\n    go()</code></pre>", "```\nif a_b:\n    go()\n```"),
        (
            "<p>A <b>bold</b> and <em>soft</em> call of <code>a_b()</code>, a_b <a href='/x(1)'>there</a>.</p>",
            "A **bold** and *soft* call of `a_b()`, a\\_b [there](</x(1)>).",
        ),
    ],
    ids=["headings", "list", "numbers", "table", "code", "words"],
)
def test_markdown_has_what_a_text_has_no_marks_for(html: str, expected: str) -> None:
    main, markdown = marked_up(f"<article><p>{STORY[0]}</p>{html}<p>{STORY[1]}</p></article><nav>Home</nav>")
    assert main.how == "fast"
    assert markdown.startswith(f"{STORY[0]}\n\n{expected}"), markdown
    assert markdown.endswith(STORY[1])


@pytest.mark.parametrize("name", PAGES)
def test_markdown_has_the_same_words_as_the_text_however_that_is_found(name: str) -> None:
    main, markdown = marked_up(PAGES[name][0])
    assert [word for word in main.text.split() if word not in markdown] == []
    if main.how == "page":
        assert markdown == main.text


def test_links_that_lead_to_another_text_are_left_out() -> None:
    main, markdown = marked_up(BESIDE_LINKS)
    assert (main.how, markdown) == ("fast", "\n\n".join(f"**{text}**" for text in STORY))
    other = MainText(document(99, "another page"), "fast")
    assert find_markdown(tree_of(BESIDE_LINKS), other) == other.text
    assert find_markdown(None, MainText()) == ""
