"""Signs beside equal words: which of them make two texts two things, and which are typography."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dedup.rules.settings import Caution, DedupSettings
from dedup.rules.signs import differing_signs
from dedup.rules.table import Rule
from dedup.rules.two_texts import PairDecider
from dedup.signature.normalise import normalise
from dedup.signature.signing import make_signature
from tests.texts import document, words

EVERY = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)]))
TEXT_PUNCTUATION = regex.findall(
    r"[[\p{P}&&[\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Pd}\p{Quotation_Mark}\p{Terminal_Punctuation}]]·•‣…¡¿§]", EVERY, regex.V1
)


def found(first: str, second: str) -> list[tuple[str, str]]:
    signatures = make_signature(first), make_signature(second)
    pairs = list(differing_signs(*(each.words for each in signatures)))
    again = differing_signs(*(each.words for each in reversed(signatures)))
    assert sorted(pairs) == sorted((b, a) for a, b in again)
    return pairs


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rents rose +4 percent", "rents rose -4 percent"),
        ("it was -7 at night", "it was 7 at night"),
        ("it was −7 at night", "it was 7 at night"),
        ("气温-7度", "气温7度"),
        ("a lamp for £30 only", "a lamp for ¥30 only"),
        ("a lamp for 30 £ only", "a lamp for 30 ¥ only"),
        ("a lamp for $30 only", "a lamp for 30 only"),
        ("written in F# mostly", "written in F mostly"),
        ("written in C++, mostly", "written in C#, mostly"),
        ("blood of type A+ wanted", "blood of type A- wanted"),
        ("then Qh5+ and Kd8", "then Qh5# and Kd8"),
        ("mixed 1:20 with oil", "mixed 1-20 with oil"),
        ("from 18+ on", "from 18 on"),
        ("5% of it", "5‰ of it"),
        ("5% of it", "5 of it"),
        ("rows × columns", "rows ÷ columns"),
        ("n = n + m", "n = n - m"),
        ("if a <= b return", "if a >= b return"),
        ("if a == b return", "if a != b return"),
        ("if (ready) return", "if (!ready) return"),
        ("then ¬p follows", "then p follows"),
        ("n = -m then", "n = m then"),
        ("a && b", "a || b"),
        ("a * b", "a / b"),
        ("x^2 and y", "x*2 and y"),
        ("Pool ✔ Sauna", "Pool ✘ Sauna"),
        ("the soup 😀 was", "the soup 🤮 was"),
        ("the soup :-) was", "the soup :-( was"),
        ("Hotel ★★★★ by the sea", "Hotel ★★ by the sea"),
        ("Service ●●●●○ Price", "Service ●○○○○ Price"),
        ("Copper ▲ 2 points", "Copper ▼ 2 points"),
        ("Copper ↑ 2 points", "Copper ↓ 2 points"),
        ("+ at the beginning", "< at the beginning"),
        ("at the end ★★★", "at the end ★"),
    ],
)
def test_other_signs_beside_the_same_words(first: str, second: str) -> None:
    assert found(first, second)
    assert not found(first, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("“so” she said – and left", '"so" she said - and left'),
        ("a well-known man", "a well‑known man"),
        ("a well-known man", "a well known man"),
        ("in covid-19 wards", "in covid 19 wards"),
        ("5 % of it", "5% of it"),
        ("5 % of it", "5 ٪ of it"),
        ("from 5–7 to 8", "from 5-7 to 8"),
        ("from 5~7 to 8", "from 5-7 to 8"),
        ("on 3/11/2024 at 9:30", "on 3.11.2024 at 9.30"),
        ("on 3/11/2024 at 9:30", "on 3-11-2024 at 9:30"),
        ("调配1∶20的溶液", "调配1:20的溶液"),
        ("Start » News > City", "Start | News - City"),
        ("• milk • eggs", "- milk - eggs"),
        ("■ milk ■ eggs", "* milk * eggs"),
        ("► milk ▪ eggs", "● milk → eggs"),
        ("✅ milk 🥚 eggs", "- milk eggs"),
        ("→ Read more", "Read more"),
        ("👍 Share on", "Share on"),
        ("# Title of it", "Title of it"),
        ("© 2024 Brand® Inc", "2024 Brand Inc"),
        ("No #4 of @me *now*", "No 4 of me now"),
        ("Home & Garden", "Home | Garden"),
        ("well 👍🏻 done", "well 👍🏿 done"),
        ("ich ❤️ es", "ich ❤ es"),
        ("──── milk", "milk"),
        ("What now?", "What now!"),
        ("+3 here and +3 there", "+3 here and more and +3 there"),
        ("a +3", "another -3"),
        ("on 10-03 it rained", "it rained at 10:03 there"),
        ("rain for $5 then none", "none for 5 minutes"),
    ],
)
def test_the_same_signs_or_none_that_mean_anything(first: str, second: str) -> None:
    assert not found(first, second)


def test_a_long_line_of_signs_is_read_at_once() -> None:
    line = "=-+" * 100_000
    assert found(f"title {line} text", f"title {line}= text")


def test_what_differs_is_told() -> None:
    text = "the share {}3 % and C{} a"
    assert found(text.format("+", "++"), text.format("-", "#")) == [("c++ a", "c# a"), ("share +3", "share -3")]


@pytest.mark.parametrize("written", ["one{} two", "one {}two", "one {} two"])
def test_what_unicode_calls_punctuation_of_text_means_nothing_between_words(written: str) -> None:
    # A mark before a word denies it in code.
    marks = [mark for mark in TEXT_PUNCTUATION if normalise(mark) != "!" or "}two" not in written]
    assert len(marks) > 400
    assert not [mark for mark in marks if found(written.format(mark), "one two")]


def test_every_currency_and_symbol_of_mathematics_means_something_beside_a_number() -> None:
    signs = [sign for sign in regex.findall(r"\p{Sc}", EVERY) if not regex.search(r"[\p{L}\p{N}]", normalise(sign))]
    assert len(signs) > 50
    for sign in signs:
        assert found(f"for {sign}5 now", "for 5 now")
        assert found(f"for 5{sign} now", "for 5 now")
        assert normalise(sign) == "$" or found(f"for 5 {sign} now", "for 5 $ now")
    operators = [sign for sign in regex.findall(r"\p{Sm}", EVERY) if normalise(sign) == sign and sign not in "|→⇒⁄∕∗∶"]
    assert [sign for sign in operators if not found(f"now {sign}5 are", "now 5 are")] == []


NOISE = st.sampled_from([*" ,.;", " – ", " — ", "-", " • ", " “", "” ", " (", ") ", "... ", " | ", " » ", ": "])


@given(st.lists(st.tuples(NOISE, NOISE), min_size=5, max_size=40))
def test_typography_makes_no_difference(between: list[tuple[str, str]]) -> None:
    tokens = words(len(between))
    first, second = ("".join(map("".join, zip(tokens, own, strict=True))) for own in zip(*between, strict=True))
    assert not found(first, second)


@given(st.text("ab1北の+-:*$%★ ,.!(", max_size=60), st.text("ab1北の+-:*$%★ ,.!(", max_size=60))
def test_the_order_of_texts_makes_no_difference(first: str, second: str) -> None:
    found(first, second)
    assert not found(first, first)


@pytest.mark.parametrize("caution", Caution)
@pytest.mark.parametrize("length", [30, 300], ids=["short", "long"])
def test_documents_that_differ_in_signs_are_similar_whatever_the_caution(length: int, caution: Caution) -> None:
    text = document(length)
    first, second, typed = (make_signature(f"{text}{end}") for end in (" for $5", " for €5", ", “for” $5"))
    decider = PairDecider(DedupSettings(caution=caution))
    decision = decider.decide(first, second)
    assert (decision.rule, decision.is_similar, decision.is_duplicate) == (Rule.SIGNS, True, False)
    assert decider.decide(first, typed).is_duplicate


def test_near_duplicates_with_other_signs_in_a_shared_passage_are_similar() -> None:
    text = document(300).split()
    first, second = " ".join([*text, "by", "+5", "to"]), " ".join(["Updated", "today", *text, "by", "-5", "to"])
    decision = PairDecider(DedupSettings()).decide(make_signature(first), make_signature(second))
    assert decision.rule is Rule.SIGNS
