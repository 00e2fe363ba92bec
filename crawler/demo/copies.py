"""Copies of the stories under other URLs: untouched, re-framed, edited, re-encoded."""

import re
from dataclasses import replace
from datetime import date
from posixpath import dirname, relpath

from crawler.demo.articles import Article
from crawler.demo.frames import gazette_page, phone_page, print_page, wire_page
from crawler.demo.reply import Reply, html_reply
from crawler.demo.specials import gb18030_page

MIRRORED = (
    "/stories/lighthouse-letters",
    "/stories/school-bees",
    "/stories/seagrass-count",
    "/zh/stories/night-school",
)

FULL_WIDTH_DIGITS = str.maketrans("0123456789", "０１２３４５６７８９")


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
