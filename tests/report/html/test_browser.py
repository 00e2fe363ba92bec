"""The page in Chromium: what a person does with it, and what a hostile field cannot do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedup.addresses.address import Address
from dedup.addresses.evidence import PAIRS, Evidence
from dedup.addresses.rule import AddressRule
from dedup.evaluation import LabelledPair, read_pairs
from dedup.report.addresses import LearntRule
from dedup.report.contents import NotExamined, OverLimit, Report, SkippedPage
from dedup.report.triage import Kind
from dedup.report.words import Place, WordDiff
from tests.report.html.browsing import OpenFile, Seen, needs_chromium
from tests.report.html.reports import DAY, EXACT, FERRY, NOON, SIMILAR, many, report_of, row, write

pytestmark = needs_chromium

ROWS = (
    row("https://news.example/sure", similarity=0.95, title="The Ferry", original_title="The Ferry"),
    row(
        "https://news.example/doubtful",
        similarity=0.56,
        distance=9,
        lost=9,
        places=4,
        title="Last ferry",
        original_title="The Ferry",
    ),
    row("https://www.example/less", similarity=0.7, places=3, decided=NOON + 3 * DAY),
    row("https://www.example/same", verdict=EXACT, similarity=1.0, distance=0, rule="same_text"),
    row("https://news.example/other", "https://news.example/two", verdict=SIMILAR, similarity=0.6, rule="replaced"),
    row("https://news.example/%E6%B8%AF", "https://news.example/two", similarity=0.97),
)

Open = Callable[..., Seen]


def learnt(told: str) -> LearntRule:
    evidence = Evidence(1)
    for _ in range(PAIRS):
        evidence.add_pair(told, Address("", (told,), ()))
    evidence.add_miss(f"not {told}", Address("", (told,), ()))
    return LearntRule(told, AddressRule("parameter", (told,)), evidence, [(told, told)] * 2)


@pytest.fixture
def open_page(open_file: OpenFile, tmp_path: Path) -> Open:
    def open_it(report: Report, difference: WordDiff | None = FERRY, **options: Any) -> Seen:
        return open_file(write(tmp_path, report, difference), **options)

    return open_it


# What is seen


@pytest.mark.thorough
def test_flagged_drop_is_the_first_thing_in_the_list(open_page: Open) -> None:
    nothing = open_page(report_of())
    assert (nothing.page.inner_text("h1"), nothing.messages) == ("0 of 10 documents dropped", [])
    seen = open_page(report_of(*ROWS))
    assert seen.keys() == ["doubtful", "less"]
    told = seen.page.inner_text("#list .row >> nth=0")
    for text in ("56%", "most of the text is the same", "name or post changed … at noon the ferry → night bus"):
        assert text in told


@pytest.mark.thorough
def test_titles_of_both_pages_are_in_the_row_and_once_where_they_are_equal(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    seen.view("dropped")

    def titles(place: int) -> list[str]:
        found: list[str] = seen.page.locator(f"#list .row >> nth={place} >> .title").all_text_contents()
        return found

    places = {key: place for place, key in enumerate(seen.keys())}
    assert titles(places["doubtful"]) == ["Last ferry", "The Ferry"]
    assert titles(places["sure"]) == ["The Ferry"]
    assert titles(places["less"]) == []
    seen.open_row(places["sure"])
    assert seen.page.locator("dialog .sides p.title").all_text_contents() == ["The Ferry"] * 2
    assert "they differ in" not in seen.page.inner_text("dialog")


@pytest.mark.thorough
def test_pair_whose_words_are_not_known_says_in_how_many_places_they_differ(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS), difference=None)
    seen.open_row(0)
    assert "they differ in 4 or more places" in seen.page.inner_text("dialog")


@pytest.mark.thorough
def test_each_view_shows_its_own_and_asks_for_nothing_but_the_page(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS, over_limit=[OverLimit("host", "www.example", 300, 290)]))
    seen.view("dropped")
    assert seen.keys() == ["doubtful", "less", "sure", "港", "same"]
    seen.view("similar")
    assert seen.keys() == ["other"]
    seen.view("hosts")
    assert "nearly all was dropped, 1 flagged" in seen.page.inner_text("#hosts")
    assert not seen.page.locator("#tab-addresses").count()
    seen.view("numbers")
    seen.page.wait_for_function("() => document.querySelectorAll('#numbers svg').length === 3")
    seen.view("clusters")
    assert seen.page.locator("#cluster-list .row").count() == 2
    # A cluster opens with its copies.
    seen.page.click("#cluster-list .row >> nth=1", position={"x": 10, "y": 10})
    assert seen.keys() == ["港"]
    seen.page.click("#cluster-chip button")
    assert len(seen.keys()) == 5
    seen.view("look")
    seen.open_row(0)
    assert "Both texts in full: dedup review --database my.db --run monday" in seen.page.inner_text("dialog")
    seen.page.keyboard.press("t")
    assert seen.messages == []
    assert len(seen.requests) == 1


# Filters


FILTERS: list[tuple[Callable[[Any], None], list[str]]] = [
    (lambda page: page.fill("#f-search", "DOUBT"), ["doubtful"]),
    (lambda page: page.fill("#f-search", "港"), ["港"]),
    (lambda page: page.fill("#f-search", "%e6%b8"), ["港"]),
    (lambda page: page.fill("#f-search", "example/two"), ["港"]),
    (lambda page: page.fill("#f-search", "host:www alike:<80"), ["less"]),
    (lambda page: page.fill("#f-search", "rule:most lost:>5"), ["doubtful"]),
    (lambda page: page.fill("#f-search", "lost:0 less"), ["less"]),
    (lambda page: page.fill("#f-search", "last ferry"), ["doubtful"]),
    (lambda page: page.fill("#f-search", "title:THE places:<3"), ["sure"]),
    (lambda page: page.fill("#f-search", "Night Bus"), ["doubtful", "less", "sure", "港"]),
    (lambda page: page.select_option("#f-host", "www.example"), ["less", "same"]),
    (lambda page: page.select_option("#f-verdict", "exact duplicate"), ["same"]),
    (lambda page: page.select_option("#f-rule", "same_text"), ["same"]),
    (lambda page: page.fill("#f-least", "96"), ["港", "same"]),
    (lambda page: page.fill("#f-most", "60"), ["doubtful"]),
    (lambda page: page.fill("#f-from", "2024-10-06"), ["less"]),
    (lambda page: page.fill("#f-to", "2024-10-05"), ["doubtful", "sure", "港", "same"]),
    (lambda page: page.select_option("#order", "likely"), ["same", "港", "sure", "less", "doubtful"]),
]


def test_filters(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS), timezone_id="UTC")
    seen.view("dropped")
    seen.open_filters()
    for fill, left in FILTERS:
        fill(seen.page)
        assert seen.keys() == left
        assert seen.page.inner_text("#count") == ("1 pair" if len(left) == 1 else f"{len(left)} pairs")
        seen.page.click("#f-clear")
        assert len(seen.keys()) == 5


def test_similar_pages_of_one_pattern_are_one_row_unless_searched_for(open_page: Open) -> None:
    days = [row(f"https://a.example/day/{n}", "https://a.example/day/1", verdict=SIMILAR) for n in (2, 3, 4)]
    seen = open_page(report_of(*ROWS, *days))
    seen.view("similar")
    assert sorted(seen.keys()) == ["day/2", "other"]
    assert seen.page.inner_text("#count") == "4 pairs"
    assert "+2 like it" in seen.page.inner_text("#list")
    seen.page.fill("#f-search", "a.example")
    assert sorted(seen.keys()) == ["day/2", "day/3", "day/4"]
    seen.open_row(0)
    assert seen.page.locator("dialog button.mark").all_text_contents() == ["✗ not a duplicate", "✓ is a copy"]
    seen.page.keyboard.press("Escape")
    seen.page.fill("#f-search", "")
    seen.view("dropped")
    seen.open_row(0)
    assert seen.page.locator("dialog button.mark").all_text_contents()[1] == "✓ rightly dropped"


@pytest.mark.thorough
def test_only_what_is_seen_is_in_the_page(open_page: Open) -> None:
    seen = open_page(report_of(*many(5_000)))
    seen.view("dropped")
    assert seen.page.locator("#list .row").count() < 30
    seen.page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    seen.page.wait_for_selector("#list .row[aria-posinset='5000']")
    assert seen.page.locator("#list .row").count() < 30
    assert seen.page.locator("#list .row[aria-posinset='1']").count() == 0
    assert seen.keys()[-1] == "copy-4999"
    # Those who do not see where rows stand read them in their order, also those that come back.
    first = int(seen.page.get_attribute("#list .row >> nth=0", "aria-posinset"))
    seen.page.evaluate("() => scrollBy(0, -400)")
    seen.page.wait_for_selector(f"#list .row[aria-posinset='{first - 3}']", state="attached")
    keys = seen.keys()
    assert keys == sorted(keys)


@pytest.mark.thorough
def test_what_is_cut_is_said(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.report.html.model.MOST_ROWS", 4)
    seen = open_page(report_of(*many(10)))
    seen.view("dropped")
    assert seen.page.inner_text("#count") == "4 pairs; 6 more are not in this page"


# A pair


@pytest.mark.thorough
def test_pair_shows_the_differing_words_side_by_side(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    seen.open_row(0)
    dialog = seen.page.locator("dialog")
    assert dialog.locator("del").all_text_contents() == ["ferry"]
    assert dialog.locator("ins").all_text_contents() == ["night bus"]
    assert "of 64 bits" not in dialog.inner_text()
    dialog.locator("summary").click()
    told = dialog.inner_text()
    for text in ("https://news.example/doubtful", "56%", "most of the text is the same", "9 of 64 bits differ"):
        assert text in told
    # It has an address of its own.
    assert seen.page.evaluate("() => location.hash").startswith("#pair-")
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert "https://news.example/doubtful" in seen.page.inner_text("dialog[open]")


def test_keyboard_alone_does_it(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    keys = seen.page.keyboard
    seen.page.focus("#list .row >> nth=0")
    keys.press("ArrowDown")
    keys.press("Enter")
    assert "https://www.example/less" in seen.page.inner_text("dialog")
    keys.press("ArrowLeft")
    assert "https://news.example/doubtful" in seen.page.inner_text("dialog")
    keys.press("n")
    # On to the next one, with the one that is judged counted.
    assert seen.page.inner_text("dialog h2") == "Pair 2 of 2, 1 judged"
    keys.press("r")
    keys.press("u")
    assert seen.page.inner_text("dialog h2") == "Pair 2 of 2, 1 judged"
    keys.press("Escape")
    seen.page.wait_for_function("() => document.activeElement.dataset.place === '1'")
    assert seen.page.get_attribute("#list .row >> nth=0", "data-said") == "no"
    assert seen.page.get_attribute("#list .row >> nth=1", "data-said") == "none"
    keys.press("/")
    assert seen.page.evaluate("() => document.activeElement.id") == "f-search"


# Marks


def mark(seen: Seen, at: int, said: str) -> None:
    seen.open_row(at)
    seen.page.click(f'dialog button.mark[data-said="{said}"]')
    seen.page.keyboard.press("Escape")
    seen.page.wait_for_function("() => location.hash === ''")


def test_marks_outlive_the_page_and_are_saved_as_labelled_pairs(open_page: Open, tmp_path: Path) -> None:
    seen = open_page(report_of(*ROWS))
    mark(seen, 0, "no")
    # One that is given twice is taken back.
    mark(seen, 0, "no")
    assert seen.page.is_hidden("#marks")
    mark(seen, 0, "no")
    mark(seen, 1, "yes")
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert (
        seen.page.inner_text("#marks-told") == "2 marks saved in this browser. Next: dedup release --marks marks.jsonl"
    )
    with seen.page.expect_download() as download:
        seen.page.click("#export")
    saved = tmp_path / "marks.jsonl"
    download.value.save_as(saved)
    assert read_pairs(saved) == [
        LabelledPair("https://news.example/ferry", "https://news.example/doubtful", is_duplicate=False, kind="jaccard"),
        LabelledPair("https://news.example/ferry", "https://www.example/less", is_duplicate=True, kind="jaccard"),
    ]
    assert seen.messages == []


def said(seen: Seen) -> list[str | None]:
    return [each.get_attribute("data-said") for each in seen.page.locator("#list .row").all()]


@pytest.mark.thorough
def test_all_that_a_search_shows_is_marked_at_once_and_taken_back_at_once(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    mark(seen, 1, "yes")
    seen.view("dropped")
    seen.page.fill("#f-search", "host:www")
    seen.page.click('#all-shown button[data-said="no"]')
    assert said(seen) == ["no", "no"]
    assert seen.page.inner_text("#marks-told").startswith("2 marks ")
    seen.page.click("#undo")
    assert said(seen) == ["yes", "none"]
    seen.page.locator("#all-shown").get_by_role("button", name="rightly dropped").click()
    assert said(seen) == ["yes", "yes"]
    seen.page.focus("#list .row >> nth=0")
    seen.page.keyboard.press("u")
    assert said(seen) == ["yes", "none"]
    assert seen.messages == []


@pytest.mark.thorough
def test_whole_host_and_whole_cluster_are_marked_at_once(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    seen.view("hosts")
    seen.page.click('#hosts tr:has-text("www.example") button[data-said="no"]')
    assert seen.page.inner_text("#marks-told").startswith("2 marks ")
    seen.view("clusters")
    assert seen.page.get_attribute("#cluster-list .row >> nth=0", "data-said") == "none"
    seen.page.click('#cluster-list .row >> nth=0 >> button[data-said="no"]')
    assert seen.page.get_attribute("#cluster-list .row >> nth=0", "data-said") == "no"
    seen.page.keyboard.press("u")
    seen.page.keyboard.press("u")
    assert seen.page.is_hidden("#marks")


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_light_or_dark_and_marks_have_two_colours_and_say_what_they_are(open_page: Open, scheme: str) -> None:
    seen = open_page(report_of(*ROWS), color_scheme=scheme)
    mark(seen, 0, "no")
    mark(seen, 1, "yes")
    colours = """() => [...document.querySelectorAll("#list .said")]
        .map((each) => getComputedStyle(each).color.match(/\\d+/g).map(Number))"""
    (red, green, _), (other_red, other_green, _) = seen.page.evaluate(colours)
    assert red > green
    assert other_green > other_red
    background = "() => getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)"
    brightness = seen.page.evaluate(background)
    assert min(brightness) > 200 if scheme == "light" else max(brightness) < 60
    assert seen.page.locator("#list .said").all_text_contents() == ["✗ not a duplicate", "✓ rightly dropped"]


@pytest.mark.thorough
def test_page_without_storage_says_that_marks_are_not_kept(open_page: Open) -> None:
    forbidden = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } });"
    seen = open_page(report_of(*ROWS), before=forbidden)
    mark(seen, 0, "no")
    assert seen.page.inner_text("#marks-told").startswith(
        "1 mark not saved when this page is closed: save them first. "
    )
    assert seen.messages == []


# What strangers write

HOSTILE = (
    "https://evil.example/<script>document.title='owned'</script>",
    'https://evil.example/"><img src=x onerror="document.title=\'owned\'">',
    "javascript:document.title='owned'",
    "data:text/html,<script>document.title='owned'</script>",
    "https://evil.example/\u202egnp.exe",
    "https://evil.example/\x1b[31mred\x07\x00\x9b",
    '=HYPERLINK("https://evil.example/")',
    "https://evil.example/{{ 7*7 }}${7*7}</script>",
    f"https://evil.example/{'long' * 250_000}",
)


def test_hostile_fields_are_text(open_page: Open) -> None:
    evil = HOSTILE[0]
    difference = WordDiff(1, 1, 1, [Place(0, evil, HOSTILE[1], HOSTILE[4], HOSTILE[5], 1, 1, Kind.NAME)])
    values = {"similarity": 0.56, "places": 3, "rule": evil, "run": evil}
    rows = [row(key, title=key, original_title=evil, **values) for key in HOSTILE]
    report = report_of(
        *rows,
        runs=[evil],
        host=HOSTILE[1],
        skip_counts={evil: 1},
        skipped=iter([SkippedPage(HOSTILE[4], evil, HOSTILE[1], HOSTILE[2], True, "monday")]),
        not_examined=[NotExamined(evil, 1, HOSTILE[1], HOSTILE[5])],
        over_limit=[OverLimit("host", evil, 1, 1)],
        address_rules=list(map(learnt, HOSTILE)),
    )
    seen = open_page(report, difference=difference)
    title = seen.page.title()
    for view in ("dropped", "clusters", "hosts", "addresses", "numbers", "look"):
        seen.view(view)
    shown = seen.keys()
    assert "<script>document.title='owned'</script>" in shown
    titles = seen.page.locator("#list .differs + .line .title").all_text_contents()
    assert "https://evil.example/<script>document.title='owned'</script>" in titles
    for place in range(len(HOSTILE)):
        seen.open_row(place)
        assert not seen.page.locator("dialog a:not([href^='https://'])").count()
        seen.page.keyboard.press("Escape")
    assert seen.page.title() == title
    assert "owned" not in title.replace("document.title='owned'", "")
    assert seen.page.locator("main img, main script, dialog img, dialog script").count() == 0
    text = seen.page.inner_text("body")
    assert not set(text) & set("\u202e\x1b\x07\x00\x9b")
    assert seen.messages == []
    assert len(seen.requests) == 1


@pytest.mark.thorough
def test_marks_are_json_whatever_is_in_the_keys_and_keys_that_are_cut_have_none(open_page: Open) -> None:
    key = 'https://evil.example/"\n\u2028'
    seen = open_page(report_of(row(key, similarity=0.5, places=9), row(HOSTILE[-1], similarity=0.56, places=9)))
    mark(seen, 0, "no")
    kept = seen.page.evaluate("() => Object.values(localStorage)[0]")
    assert json.loads(json.loads(kept)[0][0])[1] == key
    seen.open_row(1)
    assert seen.page.locator("dialog button.mark:disabled").count() == 2


def test_policy_forbids_what_the_page_does_not_need(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    tried = """async () => {
        const script = document.createElement("script");
        let isRefused = false;
        try {
            script.textContent = "document.title = 'owned'";
            document.body.append(script);
        } catch {
            isRefused = true;
        }
        const asked = await fetch("http://127.0.0.1:9/").then(() => "answered", () => "refused");
        const picture = new Image();
        const drawn = new Promise((told) => {
            picture.onload = () => told("drawn");
            picture.onerror = () => told("refused");
        });
        picture.src = "http://127.0.0.1:9/x.png";
        return [isRefused || document.title !== "owned", asked, await drawn];
    }"""
    assert seen.page.evaluate(tried) == [True, "refused", "refused"]
    refused = [message for message in seen.messages if "Content Security Policy" in message or "Trusted" in message]
    assert len(refused) >= 2


# Everywhere


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_screen(open_page: Open, width: int) -> None:
    long_ones = [row(f"https://{'long.' * 30}example/{'x' * 300}", similarity=0.6)]
    report = report_of(*ROWS, *long_ones, address_rules=[learnt("x" * 300)])
    seen = open_page(report, viewport={"width": width, "height": 800})
    for view in ("look", "dropped", "similar", "clusters", "hosts", "addresses", "numbers"):
        seen.view(view)
        assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= width, view
    seen.view("look")
    seen.open_row(0)
    assert seen.page.evaluate("() => document.querySelector('dialog').scrollWidth") <= width


@pytest.mark.thorough
def test_print_has_the_rows_one_below_the_other(open_page: Open) -> None:
    seen = open_page(report_of(*many(500)))
    seen.view("dropped")
    seen.page.emulate_media(media="print")
    seen.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert seen.page.locator("#list .row").count() == 300
    assert "and 200 more, which are not printed" in seen.page.inner_text("#list")
    assert seen.page.evaluate("() => getComputedStyle(document.querySelector('#list .row')).position") == "static"
    seen.page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert seen.page.locator("#list .row").count() < 40


@pytest.mark.thorough
def test_every_control_has_a_name_and_every_row_a_role(open_page: Open) -> None:
    seen = open_page(report_of(*ROWS))
    seen.open_row(0)
    nameless = """() => [...document.querySelectorAll("button, input, select, [role=img], dialog, [role=list]")]
        .filter((each) => !(each.textContent.trim() && each.tagName === "BUTTON") && !each.labels?.length
            && !each.ariaLabel && !each.getAttribute("aria-labelledby"))
        .map((each) => each.outerHTML)"""
    assert seen.page.evaluate(nameless) == []
    first = seen.page.locator("#list .row").first
    assert [first.get_attribute(name) for name in ("role", "aria-setsize", "aria-posinset")] == ["listitem", "2", "1"]
    assert seen.page.get_attribute("#tab-look", "aria-selected") == "true"
    # Those who do not see it open a row by its button.
    seen.page.keyboard.press("Escape")
    seen.page.get_by_role("listitem").nth(1).get_by_role("button").click()
    assert "https://www.example/less" in seen.page.inner_text("dialog")


@pytest.mark.thorough
def test_data_that_is_not_whole_is_told(browser: Any, tmp_path: Path) -> None:
    path = write(tmp_path, report_of(*ROWS))
    html = path.read_text(encoding="utf-8")
    path.write_text(html.replace('id="data">', 'id="data">AAAA'), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#trouble:not([hidden])")
    assert "write the report once more" in page.inner_text("#trouble")
    page.close()
