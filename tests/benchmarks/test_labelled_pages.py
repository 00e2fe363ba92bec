"""Pages of labelled sets: documents in frames of sites, edits that make copies, records in templates."""

from itertools import combinations
from random import Random

import pytest

from benchmarks.labelled.page_sets import COPIES, Document, PageSet, mirrored, trimmed, words
from benchmarks.labelled.pages import HEADING, LAYOUTS, PARAGRAPH, ROW, Block, Page, Site, page_html
from benchmarks.labelled.records import TEMPLATES, read_template
from benchmarks.labelled.sets import COPY, OTHER, LabelledWriter, hardest_pairs
from dedup.rules.word_comparison import jaccard, shingles_of
from dedup.signature.extraction import analyse_html

STORIES = {
    "en": "The old ferry crosses the river twice a day and carries about forty people with their bicycles and baggage.",
    "de": "Die alte Fähre überquert den Fluss zweimal am Tag und trägt etwa vierzig Menschen mit Rädern und Gepäck.",
    "zh": "这艘旧渡船每天两次横渡河流，每次可以运送大约四十名乘客以及他们的自行车和行李，深受当地居民的喜爱。",
}


def _page(language="en", number=0, paragraphs=6):
    texts = [f"{number}.{at} {STORIES[language]} {at * 7 + number}." for at in range(paragraphs)]
    return Page(f"Ferry {number}", tuple(Block(PARAGRAPH, (text,)) for text in texts))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("language", STORIES)
def test_a_page_in_a_frame_has_its_document_as_main_text(layout, language):
    page = _page(language)
    html = page_html(page, Site("Courier", layout, language), [_page(language, 1), _page(language, 2)], "key")
    text, _ = analyse_html(html)
    assert all(block.text in text for block in page.blocks)


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("language", STORIES)
def test_a_copy_is_the_same_each_time_and_keeps_figures(kind, language):
    page = _page(language)
    copy, again = (COPIES[kind](page, Random(7), language) for _ in range(2))
    assert copy == again
    assert "0.0" in copy.text


def test_words_that_a_page_is_there_for_are_never_edited():
    page = Page(
        "Leaflet", (Block(PARAGRAPH, ("stomach pain may follow when tablets are taken without food " * 9,)),), "pain"
    )
    edited = words(page, Random(1), "en").text
    assert edited.split().count("pain") >= 9
    assert edited.split().count("without") >= 9
    assert edited != page.text


def test_a_trimmed_page_is_the_begin_of_the_whole():
    page = _page("zh")
    text = trimmed(page, Random(3), "zh").text.removesuffix(" …")
    assert page.text.startswith(text)
    assert 0.5 < len(text) / len(page.text) < 0.95


def test_a_mirror_has_a_line_before_and_one_after():
    page = _page()
    assert mirrored(page, Random(2), "en").blocks[1:-1] == page.blocks


def test_a_template_fills_in_fields_and_repeats_lines(tmp_path):
    path = tmp_path / "en-results.txt"
    path.write_text("half: learn\nlayout: left\nResults of {place}\n= Votes\n|@rows\n", encoding="utf-8")
    template = read_template(path)
    page = template.page({"place": "Ely", "rows": [("Ann", 3), ("Bob", 5)]})
    assert (template.half, template.layout, template.language) == ("learn", "left", "en")
    assert page.title == "Results of Ely"
    assert page.blocks == (Block(HEADING, ("Votes",)), Block(ROW, ("Ann", "3")), Block(ROW, ("Bob", "5")))


def test_templates_of_both_halves_are_in_all_languages():
    templates = [read_template(path) for path in TEMPLATES.glob("*.txt")]
    assert {(each.half, each.language) for each in templates} == {
        (half, language) for half in ("learn", "confirm") for language in STORIES
    }
    assert all(each.layout in LAYOUTS for each in templates)


def test_originals_are_paired_with_their_copies_and_with_each_other(tmp_path):
    documents = [Document(f"d{number}", _page(number=number, paragraphs=1)) for number in range(4)]
    pages = PageSet(LabelledWriter(tmp_path, "en"), documents, Site("Courier", "left", "en"), "ferries")
    pages.add_originals()
    pages.add_copies()
    pages.add_others()
    labels = {pair: each["label"] for pair, each in pages.writer.pairs.items()}
    assert all(a.split("-")[0] == b.split("-")[0] for (a, b), label in labels.items() if label == COPY)
    assert all(a.split("-")[0] != b.split("-")[0] for (a, b), label in labels.items() if label == OTHER)
    assert set(labels.values()) == {COPY, OTHER}


def test_pairs_are_as_hard_as_counted_one_by_one():
    texts = [(f"t{number}", _page(number=number % 3, paragraphs=3 + number).text) for number in range(6)]
    shingles = {key: shingles_of(text.lower().split()) for key, text in texts}
    alike = {pair: jaccard(shingles[pair[0]], shingles[pair[1]]) for pair in combinations(shingles, 2)}
    found = hardest_pairs(texts, 0.0)
    assert set(found) == set(alike)
    assert (found[0], found[-1]) == (max(alike, key=alike.__getitem__), min(alike, key=alike.__getitem__))
    assert hardest_pairs(texts, 1.1) == []
