from __future__ import annotations

import pytest

from crawler.extraction import LinkRules, describe_page, extract_page
from crawler.trees import LARGEST, MOST, RecentTrees
from dedup.extraction import main_text, parse_html
from tests.texts import document

NOTE = "We and our partners keep small files on your machine to remember what you read here. " * 5
STORY = [f"{document(40, seed).capitalize()}." for seed in range(14)]


def text_of(body: str) -> str:
    tree = parse_html(f"<html><body>{body}</body></html>".encode())
    assert tree is not None
    return main_text(tree)


def paragraphs(texts: list[str]) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def test_a_story_beside_a_note_that_looks_like_the_article_is_found() -> None:
    text = text_of(f"<div class='article-content'><p>{NOTE}</p></div><div class='x1'>{paragraphs(STORY)}</div>")
    assert all(paragraph in text for paragraph in STORY)


def test_a_note_alone_is_the_text() -> None:
    assert text_of(f"<div class='article-content'><p>{NOTE}</p></div>").startswith("We and our partners")


def test_a_short_story_beside_a_few_paragraphs_stays_as_it_is() -> None:
    text = text_of(f"<article>{paragraphs(STORY[:2])}</article><aside>{paragraphs(STORY[3:5])}</aside>")
    assert STORY[0] in text
    assert STORY[4] not in text


def test_a_text_of_short_lines_is_not_lost() -> None:
    lines = [document(2, seed) for seed in range(60)]
    text = text_of(f"<article><ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul></article>")
    assert all(line in text for line in lines)


def page(title: str, size: int = 0) -> bytes:
    return f"<html><head><title>{title}</title></head><body><p>{title}</p>{' ' * size}</body></html>".encode()


def test_metadata_are_those_of_the_bytes_whatever_was_read_before() -> None:
    url, rules = "https://news.example/a", LinkRules(("news.example",))
    alone = describe_page(page("first"), url, with_text=True)
    assert alone.title == "first"
    extract_page(page("first"), url, rules, with_text=True)
    assert describe_page(page("first"), url, with_text=True) == alone
    extract_page(page("second"), url, rules, with_text=False)
    assert describe_page(page("first"), url, with_text=True) == alone


@pytest.mark.parametrize("size", [0, LARGEST])
def test_a_tree_is_held_until_it_is_taken_unless_it_is_large(size: int) -> None:
    trees = RecentTrees()
    html = page("a", size)
    tree = parse_html(html)
    assert tree is not None
    trees.hold("a", html, tree)
    assert trees.take("a", html) is (None if size else tree)
    assert trees.take("a", html) is None


def test_the_oldest_trees_are_let_go() -> None:
    trees = RecentTrees()
    tree = parse_html(page("a"))
    assert tree is not None
    for number in range(MOST + 2):
        trees.hold(str(number), b"%d" % number, tree)
    assert [number for number in range(MOST + 2) if trees.take(str(number), b"%d" % number) is None] == [0, 1]
