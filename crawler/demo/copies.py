"""Copies of the stories under other URLs: untouched, re-framed, edited, re-encoded."""

from __future__ import annotations

import re
from calendar import Calendar, day_abbr
from dataclasses import replace
from datetime import date
from posixpath import dirname, relpath
from random import Random
from urllib.parse import urlencode

from crawler.demo.frames import Article, Link, Reply, gazette_page, html_reply, phone_page, print_page, wire_page

REGISTER_ENTRIES = 5900

SHIP_KINDS = (
    "barque", "brig", "collier", "cutter", "drifter", "ketch", "lugger", "mail boat",
    "schooner", "sloop", "steam trawler", "steamer", "timber carrier", "tug",
)  # fmt: skip
SHIP_NAMES = (
    "Albatross", "Anna Marie", "Borealis", "Constant Heart", "Corrie Lass", "Dorothea",
    "Elder Brother", "Fortuna", "Gudrun", "Hesperia", "Industry", "Juno", "Kestrel",
    "Lady Ostrander", "Merkur", "Northern Maid", "Ophelia", "Providence", "Queen of Skerry",
    "Rosalind", "Saint Brendan", "Three Sisters", "Undaunted", "Valkyrie", "Willing Hand",
)  # fmt: skip
SURNAMES = (
    "Aldiss", "Bergh", "Coyle", "Dahl", "Eide", "Farrow", "Gisle", "Holm", "Innes", "Jansen",
    "Krag", "Lund", "Moen", "Nesbit", "Oakes", "Pryor", "Quist", "Rask", "Solberg", "Tveit",
)  # fmt: skip
PORTS = (
    "Bergen", "Cardiff", "Danzig", "Esbjerg", "Gothenburg", "Hull", "Königsberg", "Leith",
    "Memel", "Narvik", "Ostend", "Riga", "Rotterdam", "Stavanger", "Stettin", "Tromsø",
)  # fmt: skip
CARGOES = (
    "barrels of tar", "bales of flax", "boxes of herring", "casks of train oil",
    "crates of glass", "cords of pit props", "hundredweight of cheese", "loads of deals",
    "sacks of barley", "tons of best coal", "tons of ice", "tons of rock salt",
    "tons of slate", "tubs of butter",
)  # fmt: skip
REMARKS = (
    "Berthed at the Long Quay.", "Detained one tide for want of a pilot.",
    "Dues paid in coin.", "Left again in ballast.", "Lost a boat off Skerry.",
    "Master complained of the lights.", "Mate put ashore sick.", "Sails much torn.",
    "Searched by the customs; nothing found.", "Took on water and biscuit.",
    "Two hands signed off.", "Waited outside for the fog to lift.",
)  # fmt: skip


MIRRORED = (
    "/stories/lighthouse-letters",
    "/stories/school-bees",
    "/stories/seagrass-count",
    "/zh/stories/night-school",
)

FULL_WIDTH_DIGITS = str.maketrans("0123456789", "０１２３４５６７８９")


def calendar_page(article: Article, year: int, month: int) -> Reply:
    """Return the diary of one month, which links to the next month, without end."""
    name = f"{date(year, month, 1):%B} {year}"
    filled = replace(
        article,
        title=article.title.format(month=name),
        paragraphs=tuple(paragraph.format(month=name) for paragraph in article.paragraphs),
    )
    following = f"/calendar/{year + month // 12}-{month % 12 + 1:02}"
    html = gazette_page(filled, [Link(following, "Next month")])
    return html_reply(html.replace("</article>", f"{_month_table(year, month)}\n</article>"))


def _month_table(year: int, month: int) -> str:
    weeks = Calendar().monthdayscalendar(year, month)
    rows = [
        "".join(f"<th>{name}</th>" for name in day_abbr),
        *("".join(f"<td>{day or ''}</td>" for day in week) for week in weeks),
    ]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def with_session(reply: Reply, session: str) -> Reply:
    """Return the page with a session id in each of its links within the site."""
    query = urlencode({"sid": session}).encode()
    body = re.sub(rb'(<a href="/[^"?#]*)"', rb"\1?" + query + b'"', reply.body)
    return replace(reply, body=body)


def gb18030_page(article: Article) -> Reply:
    """Return the article as a page whose encoding is named by its meta element alone."""
    html = gazette_page(article, charset="gb18030")
    return html_reply(html, encoding="gb18030", content_type="text/html")


def register_page(article: Article) -> str:
    """Return a page of about 1.5 MB: an introduction and a year of ships' arrivals."""
    # A fixed seed: the page has to be the same whenever the site is built.
    random = Random(1926)
    days = sorted(random.randrange(365) for _ in range(REGISTER_ENTRIES))
    first_day = date(1926, 1, 1).toordinal()
    entries = "\n".join(
        _register_entry(number, date.fromordinal(first_day + day), random) for number, day in enumerate(days, start=1)
    )
    return gazette_page(article).replace("</article>", f"{entries}\n</article>")


def _register_entry(number: int, day: date, random: Random) -> str:
    return (
        f'<p class="entry" id="arrival-{number:04}">'
        f'<time datetime="{day.isoformat()}">{day:%A}, {day.day} {day:%B}</time>. '
        f"The {random.choice(SHIP_KINDS)} {random.choice(SHIP_NAMES)}, "
        f"{random.randint(18, 940)} tons, master {random.choice('ABCEFGHJKLMNOPRSTW')}. "
        f"{random.choice(SURNAMES)}, {random.randint(2, 31)} hands, "
        f"{random.randint(1, 19)} days from {random.choice(PORTS)} "
        f"with {random.randint(12, 800)} {random.choice(CARGOES)}. "
        f"{' '.join(random.sample(REMARKS, random.randint(1, 3)))}</p>"
    )


def map_page() -> str:
    """Return a page without any text: navigation by icons and a script."""
    return """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Harbour map</title>
</head>
<body>
<nav><a href="/" aria-label="Front page"></a> <a href="/about" aria-label="About us"></a></nav>
<canvas id="map" width="800" height="600"></canvas>
<script>
const pen = document.getElementById("map").getContext("2d");
pen.fillRect(20, 20, 760, 300);
</script>
</body>
</html>
"""


def build_copies(en: dict[str, Article], zh: dict[str, Article], originals: dict[str, Reply]) -> dict[str, Reply]:
    """Return every copy by its path; `originals` are the pages of the stories by theirs."""
    return {
        "/2026/03/bridge-reopens": originals["/stories/bridge-reopens"],
        **_mirror(originals),
        **_reframed(en, zh),
        **_edited_english(en),
        **_edited_chinese(zh),
        **_re_encoded(zh),
    }


def _mirror(originals: dict[str, Reply]) -> dict[str, Reply]:
    """Return pages whose absolute links have become relative ones."""
    return {
        f"/mirror{path}": html_reply(_with_relative_links(originals[path].body.decode(), path)) for path in MIRRORED
    }


def _with_relative_links(html: str, path: str) -> str:
    return re.sub(r'(?<=<a href=")/[^"]*', lambda link: relpath(link[0], start=dirname(path)), html)


def _reframed(en: dict[str, Article], zh: dict[str, Article]) -> dict[str, Reply]:
    """Return stories in the frames for paper and for telephones."""
    printed_ferry = en["ferry-rescue"].closed_with(
        "Printed from the website of the Harbour Gazette. One copy for personal use is free."
    )
    printed_school = zh["night-school"].closed_with("本页由南屿日报网站打印，仅供个人阅读。")
    read_also = en["seagrass-count"].opened_with(
        "Also in this issue: what the tide left on the bathing jetty, and who has to sweep it up."
    )
    return {
        "/print/fish-hall": html_reply(print_page(en["fish-hall"], canonical="/stories/fish-hall")),
        "/print/ferry-rescue": html_reply(print_page(printed_ferry, canonical="/stories/ferry-rescue")),
        "/print/zh/night-school": html_reply(print_page(printed_school, canonical="/zh/stories/night-school")),
        "/phone/tram-vote": html_reply(phone_page(en["tram-vote"], canonical="/stories/tram-vote")),
        "/phone/seagrass-count": html_reply(phone_page(read_also, canonical="/stories/seagrass-count")),
    }


def _edited_english(en: dict[str, Article]) -> dict[str, Reply]:
    """Return English stories with a new byline, date or sentence, or an agency line."""
    town_edition = en["bridge-reopens"].edited(
        "At other times the bridge will stay closed to them unless a pilot asks for it by radio thirty minutes ahead.",
        "For the remainder of the day it turns only on request, and then not before the next full hour.",
    )
    country_edition = en["library-late-hours"].edited("next Tuesday", "Tuesday, 10 March,")
    corrected = (
        en["fish-hall"]
        .edited("2.9 million crowns", "3.2 million crowns")
        .edited("thirty-four stallholders", "thirty-six stallholders")
        .opened_with("Correction: an earlier version of this report gave two wrong figures.")
    )
    tram_wire = en["tram-vote"].without_last().opened_with("PORT ELLERY, March 10 (Coast Wire)")
    bees_wire = (
        en["school-bees"]
        .edited(
            " Parents were asked to report allergies; five did so, and a kit with adrenaline now"
            " hangs at the foot of the roof stairs.",
            "",
        )
        .without_last()
        .opened_with("PORT ELLERY, March 11 (Coast Wire)")
    )
    # Byline and date stand above the text: whoever compares texts sees no change.
    signed_anew = replace(en["lighthouse-letters"], byline="Our own correspondent", published=date(2026, 3, 7))
    return {
        "/editions/late/lighthouse-letters": html_reply(gazette_page(signed_anew)),
        "/editions/town/bridge-reopens": html_reply(gazette_page(town_edition)),
        "/editions/country/library-late-hours": html_reply(gazette_page(country_edition)),
        "/editions/corrected/fish-hall": html_reply(gazette_page(corrected)),
        "/wire/tram-vote": html_reply(wire_page(tram_wire)),
        "/wire/school-bees": html_reply(wire_page(bees_wire)),
    }


def _edited_chinese(zh: dict[str, Article]) -> dict[str, Reply]:
    """Return Chinese stories with a new sentence, a source note or an agency line."""
    town_edition = zh["wetland-birds"].edited("专家建议改用低位灯并加装隔音屏", "专家希望桥上只装低位灯")
    reprint = zh["canteen"].opened_with("本文转载自南屿日报，原作者梁小满。")
    wire = zh["last-metro"].without_last().opened_with("海岸通讯社南屿三月九日电")
    return {
        "/editions/town/zh/wetland-birds": html_reply(gazette_page(town_edition)),
        "/reprints/zh/canteen": html_reply(gazette_page(reprint)),
        "/wire/zh/last-metro": html_reply(wire_page(wire)),
    }


def _re_encoded(zh: dict[str, Article]) -> dict[str, Reply]:
    """Return Chinese stories written with other bytes or other forms of the digits."""
    bridge = zh["stone-bridge"]
    full_width = replace(bridge, paragraphs=tuple(text.translate(FULL_WIDTH_DIGITS) for text in bridge.paragraphs))
    return {
        "/zh/gb/used-book-fair": gb18030_page(zh["used-book-fair"]),
        "/zh/full-width/stone-bridge": html_reply(gazette_page(full_width)),
    }
