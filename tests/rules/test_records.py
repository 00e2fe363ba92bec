"""Records in one frame with another payload each, as a shop, a job board and an office write them: all are kept."""

from __future__ import annotations

import pytest

from dedup import Verdict, deduplicate
from dedup.signature.signing import make_signature

TABLE = """
This dining table in solid oak from the forests of the region is oiled by hand and delivered within two weeks.
Size {length} x {width} cm, price {price} euros including tax, article number {number}. You can return the table within
a month. Care: wipe it with a damp cloth and oil it once a year. Chairs and benches that go with it are in our
show room.
"""
TISCH = """
Dieser Esstisch aus massiver Eiche aus den Wäldern der Region wird von Hand geölt und binnen zwei Wochen geliefert.
Größe {length} x {width} cm, Preis {price} Euro mit Steuern, Artikelnummer {number}. Sie können den Tisch einen Monat
lang zurückgeben. Pflege: mit einem feuchten Tuch abwischen und einmal im Jahr ölen. Stühle und Bänke, die zu ihm
passen, stehen in unserer Ausstellung in Lindau am Hafen.
"""
TABLES = [
    {"length": 140, "width": 80, "number": 20417, "price": 389},
    {"length": 180, "width": 90, "number": 20533, "price": 529},
    {"length": 220, "width": 100, "number": 20698, "price": 749},
]
JOB = """
We are looking for {a} for our site in Lindau, full time and for good. You will work in a small team, with flexible
hours, thirty days of leave and a ticket for the train. You bring a completed training as {a}, a good command of
English and a driving licence. {does} We pay by the tariff of the union. Please send your application by e-mail
to Ms Keller; she answers questions by telephone from Monday to Thursday.
"""
STELLE = """
Für unseren Standort in Lindau suchen wir {a} in Vollzeit und unbefristet. Sie arbeiten in einem kleinen Team mit
flexiblen Zeiten, dreißig Tagen Urlaub und einer Fahrkarte für die Bahn. Sie haben eine abgeschlossene Ausbildung, gutes
Deutsch und einen Führerschein. {does} Als {a} werden Sie nach Tarif bezahlt. Ihre Bewerbung senden Sie bitte per
E-Mail an Frau Keller; Fragen beantwortet sie montags bis donnerstags.
"""
JOBS = [
    {"a": "engineer", "does": "You plan and supervise the building of machines."},
    {"a": "nurse", "does": "You care for the patients of two wards."},
    {"a": "driver", "does": "You bring parcels to our customers."},
]
STELLEN = [
    {"a": "Ingenieurin", "does": "Sie planen Maschinen und überwachen ihren Bau."},
    {"a": "Pflegefachkraft", "does": "Sie versorgen die Kranken zweier Stationen."},
    {"a": "Fahrer", "does": "Sie bringen Pakete zu unseren Kunden."},
]
# About 75 tokens, of which one is another.
JOB_NAMED_ONCE = JOB.replace(" as {a}, a good", ", a good")
BARE_JOBS, BARE_STELLEN = ([{**job, "does": ""} for job in jobs] for jobs in (JOBS, STELLEN))

SETS = {
    "tables": (TABLE, TABLES),
    "tables in German": (TISCH, TABLES),
    "jobs": (JOB, JOBS),
    "jobs in German": (STELLE, STELLEN),
    "jobs that differ in the name alone": (JOB, BARE_JOBS),
    "jobs in German that differ in the name alone": (STELLE, BARE_STELLEN),
    "jobs that differ in one word": (JOB_NAMED_ONCE, BARE_JOBS),
}


@pytest.fixture(params=SETS)
def records(request: pytest.FixtureRequest) -> list[str]:
    frame, payloads = SETS[request.param]
    return [frame.format(**payload) for payload in payloads]


@pytest.mark.parametrize("caution", ["careful", "balanced"])
def test_records_with_another_payload_are_all_kept(records: list[str], caution: str) -> None:
    decisions = list(deduplicate(records, caution=caution))
    assert [decision.verdict.is_duplicate for decision in decisions] == [False] * 3
    # Who looks at the report sees what was nearly dropped.
    assert Verdict.SIMILAR in {decision.verdict for decision in decisions}


def test_copies_of_records_are_dropped(records: list[str]) -> None:
    copies = [f"Print version\n{record}" for record in records]
    decisions = list(deduplicate([*records, *copies]))
    assert [decision.original for decision in decisions[3:]] == ["0", "1", "2"]
    assert all(decision.verdict.is_duplicate for decision in decisions[3:])


@pytest.mark.parametrize("name", SETS)
def test_with_the_least_caution_only_those_that_differ_in_one_word_are_dropped(name: str) -> None:
    frame, payloads = SETS[name]
    decisions = list(deduplicate([frame.format(**payload) for payload in payloads], caution="eager"))
    dropped = any(decision.verdict.is_duplicate for decision in decisions)
    assert dropped == (name == "jobs that differ in one word")


def test_tables_are_long_enough_for_other_numbers_alone_not_to_tell() -> None:
    lengths = [make_signature(frame.format(**TABLES[0])).sketch.tokens for frame in (TABLE, TISCH)]
    assert all(64 <= length < 72 for length in lengths)
