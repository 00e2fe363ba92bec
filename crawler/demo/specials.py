"""Pages that are awkward to crawl.

An endless calendar, session ids, an encoding that only the page itself names, a huge page,
a page without text, and PDF files.
"""

import re
from calendar import Calendar, day_abbr
from dataclasses import replace
from datetime import date
from random import Random
from urllib.parse import urlencode

from crawler.demo.articles import Article
from crawler.demo.frames import Link, gazette_page
from crawler.demo.reply import Reply, html_reply

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


def pdf_file(line: str) -> bytes:
    """Return a PDF document of one page that shows one line of ASCII text."""
    drawing = f"BT /F1 18 Tf 72 760 Td ({line}) Tj ET".encode("ascii")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    )
    document = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return document + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, len(document))
    )
