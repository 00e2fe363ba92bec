"""Sites of which the main text is not found: nothing distinct is lost, and the log names them."""

from __future__ import annotations

from pathlib import Path

from tests.crawling import crawl_site_here
from tests.localsite import LocalSite
from tests.texts import document

NOTE = document(55, "we use cookies")


def page(title: str, main: str) -> str:
    return (
        f"<html><head><title>{title} - Valley</title></head><body><header><a href='/'>Valley</a></header>"
        f"<div class='banner'><p>{NOTE}</p></div>{main}<footer>Imprint</footer></body></html>"
    )


def test_a_note_that_is_taken_for_the_text_of_some_pages_drops_none_of_them(tmp_path: Path) -> None:
    pages = {}
    for n in range(9):
        pages[f"/s{n}"] = page(f"Story {document(3, str(n))}", f"<aside><p>{document(150, str(n))}</p></aside>")
        caption = f"<figure><figcaption>{document(9, f'c{n}')}</figcaption></figure>"
        pages[f"/c{n}"] = page(f"Picture {document(3, f'c{n}')}", caption)
        pages[f"/a{n}"] = page(f"Article {n}", f"<article><p>{document(200, f'a{n}')}</p></article>")
    links = "".join(f"<a href='{path}'>{path}</a>" for path in pages)
    with LocalSite({"/": page("All", links), **pages}) as site:
        outcome = crawl_site_here(tmp_path / "crawl.db", url=f"{site.url}/")
        assert {item.url.removeprefix(site.url) for item in outcome.items} == {"/", *pages}
    assert sum("their own text was not found" in message for message in outcome.messages) == 1
