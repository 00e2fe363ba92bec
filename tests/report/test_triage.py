"""What says another thing, and is flagged: in one place, in a pair, and among the pages of a site."""

from __future__ import annotations

import pytest

from dedup.report.examining import examined
from dedup.report.rejoining import rejoin
from dedup.report.triage import Kind, names_in
from dedup.report.words import WordDiff, diff_words, tokens_of
from dedup.signature.schemes import DEFAULT
from dedup.signature.signing import make_signature
from tests.report.html.reports import report_of, row
from tests.texts import document

BEFORE, AFTER = document(30, "before"), document(30, "after")


def difference(stored: str, dropped: str, start: str = BEFORE, end: str = AFTER) -> WordDiff:
    """The difference of two texts, of which the second is known by its words alone."""
    first, second = (f"{start} {own} {end}".strip() for own in (stored, dropped))
    return diff_words(tokens_of(first, DEFAULT), rejoin(make_signature(second).words), names_in(first))


def test_a_number_gave_way_though_both_stand_elsewhere() -> None:
    both = f"{BEFORE} of 31 million crowns and of 22 million more"
    found = difference("reserves of 31 million", "reserves of 22 million", both)
    [place] = found.places
    assert (place.kind, place.removed, place.added) == (Kind.NUMBER, "31", "22")


@pytest.mark.parametrize(
    ("stored", "dropped", "kind", "shown"),
    [
        ("prices rose by 2.9 per cent", "prices rose by 3.9 per cent", Kind.NUMBER, ("2.9", "3.9")),
        ("open on Mondays at nine", "open on Tuesdays at nine", Kind.DATE, ("mondays", "tuesdays")),
        ("on 12 November the court", "on 10 December the court", Kind.DATE, ("12 november", "10 december")),
        ("entry is free for all", "entry is 2 euros for all", Kind.PRICE, ("free", "2 euros")),
        ("a seat costs €12.50 now", "a seat costs €14.50 now", Kind.PRICE, ("12.50", "14.50")),
        ("the ferry strike begins", "the ferry strike called off", Kind.NEGATION, ("begins", "called off")),
        ("bathing is allowed here", "bathing is not allowed here", Kind.NEGATION, ("", "not")),
        ("das Konzert beginnt um acht", "das Konzert ist abgesagt", Kind.NEGATION, ("beginnt um acht", "ist abgesagt")),
        ("wir haben einen Platz frei", "wir haben keinen Platz frei", Kind.NEGATION, ("einen", "keinen")),
        ("وقرر المجلس زيادة الدعم", "وقرر المجلس عدم زيادة الدعم", Kind.NEGATION, ("", "عدم")),
        ("سيرفع المجلس الرسوم هذا العام", "لن يرفع المجلس الرسوم هذا العام", Kind.NEGATION, ("سيرفع", "لن يرفع")),
        ("hit by a dozen stones", "hit by two dozen stones", Kind.NUMBER, ("a", "two")),
        ("the home team won 2:1 today", "the home team won 1:2 today", Kind.NUMBER, ("2:1", "1:2")),
        ("doors open at 9 am for all", "doors open at 9 pm for all", Kind.NUMBER, ("am", "pm")),
        ("a path of 3 km leads there", "a path of 3 mi leads there", Kind.NUMBER, ("km", "mi")),
        ("a statue of Frederick II here", "a statue of Frederick IV here", Kind.NUMBER, ("ii", "iv")),
        ("le mardi 3 mai au port", "le jeudi 3 mai au port", Kind.DATE, ("mardi", "jeudi")),
        ("la entrada es gratis hoy", "la entrada es 3 euros hoy", Kind.PRICE, ("gratis", "3 euros")),
        ("the talk by Anna Keller here", "the talk by Jonas Brandt here", Kind.NAME, ("anna keller", "jonas brandt")),
        ("the pool opens again", "the pool burns again", Kind.WORDS, ("opens", "burns")),
        ("the plan was rejected now", "the plan was accepted now", Kind.WORDS, ("rejected", "accepted")),
        ("all crew were unhurt then", "all crew were hurt then", Kind.NEGATION, ("unhurt", "hurt")),
        ("the harbour was full", "the harbor was full", Kind.OTHER, ("harbour", "harbor")),
        ("in the shed", "in a shed", Kind.OTHER, ("the", "a")),
        ("", "the concert here is cancelled", Kind.NEGATION, ("", "the concert here is cancelled")),
        ("no fee is charged here", "", Kind.OTHER, ("no fee is charged here", "")),
        ("", document(50, "own"), Kind.PASSAGE, ("", document(50, "own"))),
        (document(50, "own"), "", Kind.OTHER, (document(50, "own"), "")),
    ],
)
def test_kind_of_a_difference(stored: str, dropped: str, kind: Kind, shown: tuple[str, str]) -> None:
    found = difference(stored, dropped)
    [place] = found.places
    assert (place.kind, (place.removed, place.added)) == (kind, shown)
    assert (found.weight > 0) is (kind is not Kind.OTHER)


def test_chinese_numbers_dates_and_negations() -> None:
    story = "志愿者给船身刷漆，缝补船帆，把仓库里多年堆积的东西清理干净。大多数船已经很久离开水面。"
    for stored, dropped, kind in (
        ("讲座将于星期一举行。", "讲座将于星期四举行。", Kind.DATE),
        ("运动会如期举行。", "运动会取消。", Kind.NEGATION),
        ("门票三百元。", "门票五百元。", Kind.PRICE),
        ("工程由王建国负责。", "工程由李建国负责。", Kind.NAME),
        # Mistyped.
        ("相关各地组织党员突击队。", "相关各地组中党员突击队。", Kind.OTHER),
    ):
        assert [place.kind for place in difference(stored, dropped, story, story[::-1]).places] == [kind]


def test_what_moved_is_misspelt_or_dates_a_text_says_nothing() -> None:
    moved = document(20, "moved")
    assert difference(f"{moved} {BEFORE}", f"{BEFORE} {moved}").weight == 0
    words = document(60, "scan").split()
    misread = [f"{word[:-1]}#" if at % 9 == 0 else word for at, word in enumerate(words)]
    assert difference(" ".join([*words, "2019"]), " ".join([*misread, "2819"])).weight == 0
    assert difference("4 May 2025", "9 June 2026", start="").weight == 0


def test_what_pages_with_three_originals_share_is_the_frame_of_their_site() -> None:
    def flagged(host: str, originals: int) -> list[bool]:
        keys = [
            (f"https://{host}.example/copy/{number}", f"https://{host}.example/{number % originals}")
            for number in range(3)
        ]
        rows = [row(key, original, places=1) for key, original in keys]
        found = examined(
            rows, report_of(compare=lambda rows: (difference("views 12 today", "views 13 today") for _ in rows))
        )
        return [each.is_flagged for each in found]

    assert flagged("frame", 3) == [False] * 3
    assert flagged("one", 1) == [True] * 3


def test_most_decisive_come_first() -> None:
    texts = {
        "a": ("the pool opens again", "the pool burns again"),
        "b": ("the harbour was full", "the harbor was full"),
        "c": ("the ferry strike begins", "the ferry strike called off"),
        "d": ("prices rose by 2.9 per cent", "prices rose by 3.9 per cent"),
    }
    report = report_of(compare=lambda rows: (difference(*texts[each.dropped]) for each in rows))
    found = examined([row(key, key) for key in texts], report)
    assert [each.dropped for each in found] == list("cdab")
