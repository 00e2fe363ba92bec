from __future__ import annotations

from dedup.signature.extraction import main_text, parse_html
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
