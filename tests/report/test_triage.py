"""What says another thing, and is flagged: in one place, in a pair, and among the pages of a site."""

from __future__ import annotations

import pytest

from dedup.report.examining import examined
from dedup.report.rejoining import rejoin
from dedup.report.triage import Kind, names_in
from dedup.report.words import WordDiff, diff_words, tokens_of
from dedup.signature.schemes import DEFAULT, SCHEMES, Scheme
from dedup.signature.signing import make_signature
from tests.report.html.reports import report_of, row
from tests.texts import document

BEFORE, AFTER = document(30, "before"), document(30, "after")


def difference(stored: str, dropped: str, start: str = BEFORE, end: str = AFTER, scheme: Scheme = DEFAULT) -> WordDiff:
    """The difference of two texts, of which the second is known by its words alone."""
    first, second = (f"{start} {own} {end}".strip() for own in (stored, dropped))
    return diff_words(tokens_of(first, scheme), rejoin(make_signature(second, scheme).words), names_in(first))


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
        ("", "none of us at home had heard", Kind.OTHER, ("", "none of us at home had heard")),
        ("the inner basin is now open", "the inner basin is not open", Kind.NEGATION, ("now", "not")),
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


CHINESE_STORY = "志愿者给船身刷漆，缝补船帆，把仓库里多年堆积的东西清理干净。大多数船已经很久离开水面。"


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize(
    ("stored", "dropped", "kind"),
    [
        ("运动会如期举行。", "运动会取消。", Kind.NEGATION),
        ("门票300元。", "门票500元。", Kind.PRICE),
        ("大桥会开放。", "大桥不会开放。", Kind.NEGATION),
        ("受伤的人能自己走路。", "受伤的人不能自己走路。", Kind.NEGATION),
        ("代表不同意方案。", "代表同意方案。", Kind.NEGATION),
        ("工厂有许可证。", "工厂没有许可证。", Kind.NEGATION),
        ("工程已通过验收。", "工程未通过验收。", Kind.NEGATION),
        ("园内允许骑车。", "园内禁止骑车。", Kind.NEGATION),
        ("市委书记出席仪式。", "市委副书记出席仪式。", Kind.NAME),
        ("教育部部长发言。", "教育部前部长发言。", Kind.NAME),
        ("由办公室代主任主持。", "由办公室主任主持。", Kind.NAME),
        ("由张伟负责维修。", "由张伟、李娜负责维修。", Kind.NAME),
        ("获奖者是王芳和陈刚。", "获奖者是王芳。", Kind.NAME),
        ("张伟正在修船。", "志愿者张伟正在修船。", Kind.OTHER),
    ],
)
def test_chinese_is_flagged_however_it_is_cut(stored: str, dropped: str, kind: Kind, scheme: Scheme) -> None:
    found = difference(stored, dropped, CHINESE_STORY, CHINESE_STORY[::-1], scheme)
    assert [place.kind for place in found.places] == [kind]


def test_chinese_weekdays_numerals_and_names() -> None:
    for stored, dropped, kind in (
        ("讲座将于星期一举行。", "讲座将于星期四举行。", Kind.DATE),
        ("门票三百元。", "门票五百元。", Kind.PRICE),
        ("工程由王建国负责。", "工程由李建国负责。", Kind.NAME),
        # Mistyped.
        ("相关各地组织党员突击队。", "相关各地组中党员突击队。", Kind.OTHER),
    ):
        found = difference(stored, dropped, CHINESE_STORY, CHINESE_STORY[::-1])
        assert [place.kind for place in found.places] == [kind]


@pytest.mark.parametrize(
    ("stored", "dropped", "is_flagged"),
    [
        ("the mayor opened it", "the deputy mayor opened it", True),
        ("the former chair spoke", "the chair spoke", True),
        ("ein Bürgermeister sprach dort", "ein ehemaliger Bürgermeister sprach dort", True),
        ("signed by Mayor Keller here", "signed by Mayor Anna Keller and Tom Rivera here", True),
        ("given to Judith Okoye here", "given to Judith Okoye and Helen Marsh here", True),
        ("of Anna Keller, Jo Brandt and Tom Rivera", "of Anna Keller and Tom Rivera", True),
        ("signed by Mayor Keller here", "signed by Mayor Anna Keller here", False),
        ("they came on foot here", "they came on foot and some by boat here", False),
    ],
)
def test_posts_and_persons_more_are_names(stored: str, dropped: str, is_flagged: bool) -> None:
    assert [place.kind for place in difference(stored, dropped).places if place.kind.weight] == [Kind.NAME] * is_flagged


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize(
    ("stored", "dropped", "other"),
    [
        ("it cost 1,250,000 crowns", "it cost 1250000 crowns", "it cost 1350000 crowns"),
        ("es kostet 1.250.000 Kronen", "es kostet 1250000 Kronen", "es kostet 1250 Kronen"),
        ("on 5 March 2021 here", "on March 5, 2021 here", "on March 6, 2021 here"),
        ("on 2021-03-05 here", "on the 5th of March 2021 here", "on the 5th of April 2021 here"),
        ("am 5. März 2021 hier", "am 05.03.2021 hier", "am 05.04.2021 hier"),
        ("there six boats came", "there 6 boats came", "there 7 boats came"),
        ("doors open 9am today", "doors open 9:00 a.m. today", "doors open 9:00 p.m. today"),
        ("doors open 3:30 pm today", "doors open 15:30 today", "doors open 16:30 today"),
        ("活动定于2021年3月5日举行。", "活动定于2021-03-05举行。", "活动定于2021-03-15举行。"),
        ("公司成立于二〇二一年三月。", "公司成立于2021年3月。", "公司成立于2012年3月。"),
        ("共有三十名志愿者。", "共有30名志愿者。", "共有50名志愿者。"),
        ("共有一万二千三百人。", "共有12300人。", "共有12003人。"),
        ("早上九点半开始。", "早上9:30开始。", "早上9:50开始。"),
    ],
)
def test_one_value_in_two_forms_is_not_flagged(stored: str, dropped: str, other: str, scheme: Scheme) -> None:
    assert difference(stored, dropped, scheme=scheme).weight == 0
    assert difference(stored, other, scheme=scheme).weight > 0


def test_when_a_text_was_updated_and_who_wrote_it_says_nothing() -> None:
    assert difference("last updated July 2, 2026 these terms", "last updated May 8, 2026 these terms").weight == 0
    assert difference("更新时间：2026年4月2日。", "更新时间：2026年5月4日。").weight == 0
    assert difference("it opens July 2, 2026 for all", "it opens May 8, 2026 for all").weight > 0
    headline, story = document(12, "headline"), document(300, "story")
    assert difference("by Anna Keller", "by Jonas Brandt", headline, story).weight == 0
    assert difference("by Anna Keller", "by Jonas Brandt", headline, f"{story} Anna Keller {story}").weight > 0


def test_words_that_run_into_the_next_ones_are_no_others() -> None:
    assert difference("the keeper said that", "the keeper saidOpens in a new tab that").weight == 0
    assert difference("of Harbour L.L.C. here", "of Harbour LLC here").weight == 0


def test_characters_that_a_machine_misread_say_nothing() -> None:
    misread = {"码头上": "码头土", "乐队": "乐的队", "点心": "点", "1834": "18北4"}
    story = "码头上挤满了人。孩子们挥手,乐队演奏,面包师把橱窗的点心都搬到了水边。大桥长1834米。志愿者给船身刷漆。"
    other = story
    for right, wrong in misread.items():
        other = other.replace(right, wrong)
    assert difference(story, other).weight == 0


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
