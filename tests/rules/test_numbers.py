"""Numbers, dates and times have one form, however they are written; in short texts their order counts, too."""

from __future__ import annotations

import pytest

from dedup import deduplicate
from dedup.rules.numbers import count_numbers, find_numbers, have_same_numbers
from dedup.signature.signature import without_signs
from dedup.signature.signing import make_signature
from tests.texts import document


def tokens(text: str) -> list[bytes]:
    return without_signs(make_signature(text).words).split(b"\n")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("it costs 1,250,000 euros", "it costs 1250000 euros"),
        ("1.000 pieces", "1000 pieces"),
        ("on 2021年3月5日", "on 2021-03-05"),
        ("on 5 March 2021", "on 2021-03-05"),
        ("on March 5, 2021", "am 05.03.2021"),
        ("on March 5, 2021", "on 03/05/2021"),
        ("on 5 March", "on 3月5日"),
        ("in March 2021", "in 2021年3月"),
        ("on 05.03.2021 at 09:30", "on 5.3.2021 at 9:30"),
        ("six boats", "6 boats"),
        ("open at 9am", "open at 9 am"),
        ("a dose of 5mg", "a dose of 5 mg"),
        ("part IV", "part 4"),
        ("the 5th day", "day 5"),
    ],
)
def test_the_same_number_has_one_form(one: str, other: str) -> None:
    assert have_same_numbers(tokens(one), tokens(other))
    assert not have_same_numbers(tokens(one), tokens("no number"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("from 5 to 10", "from 10 to 5"),
        ("open at 9 am", "open at 9 pm"),
        ("open at 9 a.m.", "open at 9 p.m."),
        ("a dose of 5 mg", "a dose of 5 g"),
        ("three boats", "thirty boats"),
        ("part IV", "part VI"),
        ("1,250,000", "1,250,001"),
        ("2021-03-05", "2021-03-06"),
        ("2021-03-05", "2021-05-03"),
        ("5 March 2021", "3 May 2021"),
        ("5 March", "3 May"),
        ("3月5日", "5月3日"),
        ("05/03/2021", "03/05/2021"),
        ("25/03/2021", "25 May 2021"),
        ("won 3:2, 2021", "won 2:3, 2021"),
        ("1920 × 1080", "1080 × 1920"),
        ("a rate of 1.05", "a rate of 1.5"),
        ("a dose of 0,05 mg", "a dose of 0,5 mg"),
        ("a dose of 0.05mg", "a dose of 0.5mg"),
        ("agent 007", "agent 7"),
        ("telephone 16e", "telephone 16"),
        ("票价是三十元", "票价是四十元"),
        ("票价是三分之一", "票价是三分之二"),
        ("票价是3万元", "票价是3千元"),
        ("下午三点开门", "下午四点开门"),
        ("料金は三百円だ", "料金は五百円だ"),
    ],
)
def test_other_numbers_have_other_forms(one: str, other: str) -> None:
    assert not have_same_numbers(tokens(one), tokens(other))


def test_a_part_has_the_whole_numbers_that_it_touches() -> None:
    words = tokens("costs 1,250,000 euros or 30 dollars")
    assert [number.value for number in find_numbers(words, 3, 4)] == ["1250000"]
    assert count_numbers(words, [(1, 2), (3, 4)]) == {"1250000": 1}


FRAME = (
    "The council has told the owners of the boats in the harbour that {} in the summer, when the guests come to the "
    "island from all the towns of the coast, and that the rules of the year before hold in all else"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("they may stay", "they may not stay"),
        ("they pay from 5 to 10 crowns", "they pay from 10 to 5 crowns"),
        ("they pay 5 crowns a kg", "they pay 5 crowns a mg"),
        ("three of them stay", "thirty of them stay"),
        ("part IV of the act holds", "part VI of the act holds"),
        ("they may stay until Sunday", "they may stay until Monday"),
        ("they may stay in June", "they may stay in July"),
        ("they may stay for 5 minutes", "they may stay for 5 months"),
        ("they pay 5 million crowns", "they pay 5 billion crowns"),
    ],
    ids=["negation", "order", "unit", "number word", "roman", "weekday", "month", "minutes", "million"],
)
def test_one_word_makes_a_short_text_another_one(one: str, other: str) -> None:
    decisions = list(deduplicate([FRAME.format(one), FRAME.format(other), FRAME.format(one) + ", he said"]))
    assert [decision.is_dropped for decision in decisions] == [False, False, True]
    assert decisions[1].is_similar


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("have 1,250,000 of them", "have 1250000 of them"),
        ("have 6 boats", "have six boats"),
        ("stay until Sunday, 5 March", "stay until 5 March"),
        ("stay until Sunday", "stay until Sun"),
        ("stay for 5km", "stay for 5 km"),
        ("come at 9 a.m. then", "come at 9 am then"),
        ("don't stay", "do not stay"),
        ("can't stay", "cannot stay"),
        ("have a good boat", "have a boat"),
        ("stay for 5 minutes", "stay for 5 min"),
    ],
)
def test_a_number_or_a_day_that_is_written_otherwise_makes_none(one: str, other: str) -> None:
    decisions = list(deduplicate([FRAME.format(f"they {each}") for each in (one, other)]))
    assert decisions[1].verdict.is_duplicate


def law(fine: int, day: str) -> str:
    words = document(200).split()
    return " ".join([*words[:80], "fine", "of", str(fine), "euros", *words[80:150], day, *words[150:]])


@pytest.mark.parametrize(
    ("addresses", "texts", "is_kept"),
    [
        (("version/2018-07-01", "version/2020-01-01"), (law(250, "monday"), law(500, "monday")), True),
        (("v1.2/act", "v1.3/act"), (law(250, "monday"), law(500, "monday")), True),
        # The numbers of the address say nothing, nor do those of the day before and behind.
        (("version/2018-07-01", "version/2018-07-02"), (law(1, "monday"), law(2, "monday")), False),
        (("version/2018-07", "version/2018-08"), (law(250, "2018-07"), law(250, "2018-08")), False),
        (("version/2018-07-01", "version/2020-01-01"), (law(250, "monday"), law(250, "friday")), False),
        (("act/250", "act/500"), (law(250, "monday"), law(500, "monday")), False),
        (("version/2018-07-01", "print/2020-01-01"), (law(250, "monday"), law(500, "monday")), False),
    ],
    ids=["date", "version", "its own numbers", "its own month", "the same numbers", "no version", "another path"],
)
def test_of_two_versions_of_a_page_with_other_numbers_both_are_kept(
    addresses: tuple[str, str], texts: tuple[str, str], is_kept: bool
) -> None:
    urls = [f"https://laws.example/{each}" for each in addresses]
    _, decision = deduplicate(zip(urls, texts, strict=True))
    assert decision.is_dropped is not is_kept
