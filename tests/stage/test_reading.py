"""What is found in items of the shapes that real projects have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from scrapy.http import HtmlResponse, TextResponse

from dedup.stage.item_reader import ItemReader
from dedup.stage.item_settings import ItemSettings, ItemView
from dedup.stage.pending import Reading
from tests.texts import document

PAGE = "https://example.com/list?page=2"
LONG, LONGER, SHORT = document(120, "long"), document(300, "longer"), document(20, "short")
HTML = "<!doctype html><html><body><p>Text</p></body></html>"


@dataclass
class Story:
    content: str = ""
    description: str = ""
    url: str = ""


def read(item: Any, page: str | None = PAGE, **settings: Any) -> Reading:
    named = {f"DEDUP_{name.upper()}": each for name, each in settings.items()}
    reader = ItemReader(ItemSettings.read(named.get), "shop")
    return reader.read(ItemView(item), None if page is None else TextResponse(page))


@pytest.mark.parametrize(
    ("item", "text", "source"),
    [
        ({"text": "q", "author": "a", "tags": ["t"]}, "q", "text"),
        ({"title": "T", "content": "c", "url": "u"}, "T\nc", "title + content"),
        ({"title": ["T"], "link": "l", "content_intro": ["a", "b"]}, "T\na\nb", "title + content_intro"),
        ({"url": "u", "article_text": "t", "spider_response": HtmlResponse(PAGE, body=b"x")}, "t", "article_text"),
        ({"title": "T", "category": "c", "description": "d", "price": 3}, "T\nd", "title + description"),
        ({"url": "u", "articleBody": "b", "articleBodyHtml": "<p>b</p>"}, "b", "articleBody"),
        ({"title": "The same", "text": "the SAME words"}, "the SAME words", "title + text"),
        ({"text": "", "body": " ", "summary": "s"}, "s", "summary"),
        ({"name": "n", "price": 1}, "", ""),
        ({"title": "only a title"}, "", ""),
    ],
)
def test_text_is_found_under_the_names_that_projects_use(item: Any, text: str, source: str) -> None:
    content = read(item)
    assert (content.text, content.source) == (text, source)


def test_markup_in_a_text_is_left_out() -> None:
    assert read({"title": "<b>Late</b>", "content": "<p>Tom &amp; Jerry</p>"}).text == "Late\nTom & Jerry"
    assert read({"content": "<p> </p>", "html": HTML}).html == HTML


@pytest.mark.parametrize(
    "item",
    [
        {"html": HTML},
        {"body": HTML.encode()},
        {"content": HTML},
        {"spider_response": HtmlResponse(PAGE, body=HTML.encode())},
        {"raw_html": [HTML]},
        {"text": "", "html": HTML},
        {"text": b" ", "html": HTML},
    ],
)
def test_text_is_taken_from_html_where_there_is_none(item: Any) -> None:
    content = read(item)
    assert content.text == ""
    assert content.html in (HTML, HTML.encode())


def test_files_are_told_by_their_checksums() -> None:
    files = [{"url": "u", "path": "p", "checksum": "b2", "status": "downloaded"}, {"url": "v", "checksum": "a1"}]
    content = read({"file_urls": ["u", "v"], "files": files})
    assert (content.checksums, content.source) == (("a1", "b2"), "checksums of files")
    assert read({"files": files, "text": "t"}).checksums == ()
    assert read({"files": [], "file_urls": ["u"]}).source == ""
    assert read({"files": [{"url": "u"}]}).source == ""


@pytest.mark.parametrize(
    ("fields", "key", "field"),
    [
        ({"url": "https://example.com/a"}, "https://example.com/a", "url"),
        ({"link": ["https://example.com/a"]}, "https://example.com/a", "link"),
        ({"url": "/a?b"}, "https://example.com/a?b", "url"),
        ({"id_": 17}, "shop:17", "id_"),
        ({"id": "17", "sku": "x"}, "shop:17", "id"),
        ({"url": "", "id": 0}, "shop:0", "id"),
        ({"url": None, "link": {"a": 1}, "guid": " g "}, "shop:g", "guid"),
    ],
)
def test_key_is_a_url_or_an_id_of_the_spider(fields: Any, key: str, field: str) -> None:
    reading = read({"text": "t", **fields})
    assert (reading.key, reading.key_field) == (key, field)


@pytest.mark.parametrize(
    ("item", "settings", "title"),
    [
        ({"title": "<b>Ferry</b> late", "text": "t"}, {}, "Ferry late"),
        ({"headline": "Ferry", "html": "<html>"}, {}, "Ferry"),
        ({"kop": "Veerboot", "title": "Ferry", "text": "t"}, {"title_field": "kop"}, "Veerboot"),
        ({"title": "Ferry", "text": "t"}, {"title_field": ""}, "Ferry"),
        ({"title": None, "text": "t"}, {}, ""),
        ({"text": "t"}, {}, ""),
    ],
)
def test_title_is_what_people_know_an_item_by(item: Any, settings: Any, title: str) -> None:
    assert read(item, **settings).title == title


def test_without_a_key_it_is_the_url_of_the_response_and_the_text() -> None:
    first, second = read({"text": "a"}), read({"text": "b"})
    assert first.key.startswith(f"{PAGE} (text ")
    assert first.key != second.key
    assert (first.key, first.key_field, first.is_page) == (read({"text": "a", "seen": 2}).key, "", False)
    assert read({"text": "a"}, page=None).key == first.key.replace(PAGE, "shop")


def test_item_stands_for_its_page_if_it_has_its_url() -> None:
    assert read({"url": PAGE, "text": "t"}).is_page
    assert not read({"url": f"{PAGE}#2", "text": "t"}).is_page


def test_class_is_told_but_for_dicts() -> None:
    assert read(Story("c")).item_class == "Story"
    assert read({"text": "t"}).item_class == ""


def test_item_without_its_text_is_not_compared_by_a_description_that_many_share() -> None:
    reader = ItemReader(ItemSettings(), "shop")
    many = "The paper of the town"
    assert reader.read(ItemView(Story(description=many)), None).text == many
    assert reader.read(ItemView(Story("c", many)), None).text == "c"
    assert reader.read(ItemView(Story(description=many)), None).text == ""
    assert reader.read(ItemView({"content": "c", "description": many}), None).text == "c"
    assert reader.read(ItemView({"content": "", "description": many}), None).text == ""
    assert reader.read(ItemView({"description": many}), None).text == many


def test_fields_that_a_project_names_are_looked_at_in_every_item() -> None:
    reader = ItemReader(ItemSettings.read({"DEDUP_TEXT_FIELD": "content,description"}.get), "shop")
    assert [reader.read(ItemView(item), None).text for item in (Story("c", "d"), Story("", "d"))] == ["c", "d"]


def test_titles_can_be_left_out() -> None:
    assert read({"title": "T", "text": "t"}, title_field="").text == "t"


@pytest.mark.parametrize(
    "value", [17, True, {"a": 1}, [1, 2], object(), b" \n"], ids=lambda value: type(value).__name__
)
def test_what_is_no_text_is_none(value: Any) -> None:
    assert read({"text": value}).source == ""


@pytest.mark.parametrize(
    "value", ["NULL", "null", "None", " N/A ", "n.a.", "-", "--", "...", "Loading…", "loading...", "TBD", "NaN", "暂无"]
)
def test_what_stands_for_a_missing_text_is_none(value: str) -> None:
    assert read({"text": value}).text == ""
    assert read({"text": [value], "html": HTML}).html == HTML
    assert read({"title": value, "text": "A text"}).text == "A text"
    assert ItemReader(ItemSettings(), "shop").empty_fields(ItemView({"text": value})) == ["text"]


@pytest.mark.parametrize("value", ["none of them", "No", "0", "+1", "null and void", "无人机"])
def test_a_short_text_is_one(value: str) -> None:
    assert read({"text": value}).text == value


def test_classes_that_are_said_to_have_no_text_are_exempt() -> None:
    reader = ItemReader(ItemSettings.read({"DEDUP_TEXT_FIELD": {"Story": None}}.get), "shop")
    assert reader.is_exempt(ItemView(Story("c")))
    assert not reader.is_exempt(ItemView({"text": "t"}))


@pytest.mark.parametrize(
    ("item", "text", "key"),
    [
        ({"Title": "T", "BODY": "b", "Url": "https://example.com/1"}, "T\nb", "https://example.com/1"),
        ({"article": "a", "news_url": "https://example.com/2"}, "a", "https://example.com/2"),
        ({"Question": "q", "product_url": "https://example.com/4"}, "q", "https://example.com/4"),
        ({"motto": "m", "id": 7}, "m", "shop:7"),
    ],
)
def test_names_of_fields_are_found_in_any_case(item: Any, text: str, key: str) -> None:
    found = read(item)
    assert (found.text, found.key) == (text, key)


@pytest.mark.parametrize(
    "fields", [{}, {"text": ""}, {"author": "Ann Lee"}, {"note": "Read more"}, {"code": "x" * 300}]
)
def test_a_title_alone_is_no_text(fields: dict[str, str]) -> None:
    reading = read({"title": "T", "url": "https://example.com/1", **fields})
    assert (reading.text, reading.source, reading.unclear) == ("", "", ())
    assert read({"title": "T", "url": "https://example.com/1", "story": LONG}, text_field="body").text == ""


@pytest.mark.parametrize(
    ("item", "text", "source"),
    [
        ({"report": LONG, "author": "Ann", "bio": SHORT}, LONG, "report"),
        ({"title": "T", "parts": [LONG, SHORT]}, f"T\n{LONG}\n{SHORT}", "title + parts"),
        ({"report": f"<p>{LONG}</p>", "description": SHORT}, LONG, "report"),
        ({"description": LONG, "features": LONGER[:900]}, LONG, "description"),
        ({"text": "video", "report": LONG}, LONG, "report"),
        ({"text": SHORT, "report": LONGER}, SHORT, "text"),
        ({"data": {"page": {"report": LONG}}}, LONG, "data.page.report"),
        ({"report": LONG, "comments": [LONGER, LONGER]}, LONG, "report"),
        ({"raw": HTML}, "", "raw"),
        ({"report": LONG, "html": HTML}, "", "html"),
        ({"picture": b"\x89PNG" * 99, "state": '{"a": 1, "b": [2, 3, 4, 5, 6, 7]}' * 9}, "", ""),
    ],
)
def test_without_a_usual_name_the_text_is_the_longest(item: dict[str, Any], text: str, source: str) -> None:
    reading = read(item)
    assert (reading.text, reading.source) == (text, source)


def test_of_two_texts_that_may_be_it_none_is_taken() -> None:
    reading = read({"report": LONG, "notes": f"{LONG} {SHORT}", "bio": SHORT, "url": "https://example.com/1"})
    assert (reading.text, reading.source, reading.unclear) == ("", "", ("notes", "report"))


def test_a_title_that_is_compared_tells_things_apart() -> None:
    item = {"title": "Nurse", "url": "https://a.example/1", "text": LONG}
    assert [list(read(item, title_field=field).fields.values) for field in ("title", "")] == [["title"], []]


def test_an_item_whose_longest_text_is_missing_is_not_compared_by_another() -> None:
    reader = ItemReader(ItemSettings(), "shop")
    reader.read(ItemView({"report": LONGER, "bio": LONG}), None)
    assert reader.read(ItemView({"report": "", "bio": LONG}), None).source == ""
    assert reader.read(ItemView({"report": None, "description": LONG}), None).source == ""
    assert reader.read(ItemView({"description": LONG}), None).source == "description"


def test_the_page_of_a_short_text_is_looked_at_if_the_item_stands_for_it() -> None:
    item = {"text": "The beginning ...", "html": HTML}
    assert read(item | {"url": PAGE}).html == HTML
    assert not read(item | {"url": f"{PAGE}#comment"}).html
