"""Records of the German templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from benchmarks.labelled.records_data import Record, WorldData, leaflets, products

_PRODUCTS = {
    "Kaffeemaschine": ("Mit Zeitschaltuhr und Glaskanne für zehn Tassen.", "Kunststoff, Edelstahl"),
    "Wasserkocher": ("Schaltet sich bei Trockenlauf ab und fasst 1,7 Liter.", "Edelstahl"),
    "Rucksack": ("Mit Fach für den Rechner und gepolsterten Trägern.", "Polyester"),
    "Schreibtischlampe": ("Stufenlos dimmbar, Arm in drei Richtungen verstellbar.", "Aluminium"),
    "Regal": ("Vier Böden, jeder trägt bis zu dreißig Kilogramm.", "Kiefer, geölt"),
}
_BRANDS = ["Nordhaus", "Velino", "Karlsen"]
_WORKS = [
    ("Sanierung des Daches der Grundschule", "{n} Quadratmeter Ziegeldach mit Dämmung"),
    ("Erneuerung der Straßenbeleuchtung", "{n} Leuchten mit LED einschließlich Masten"),
    ("Gebäudereinigung im Rathaus", "{n} Quadratmeter Bodenfläche, fünfmal in der Woche"),
    ("Neubau eines Spielplatzes", "{n} Quadratmeter mit acht Geräten"),
    ("Lieferung von Schulmöbeln", "{n} Tische und ebenso viele Stühle"),
]


def _products(data: WorldData, random: Random) -> Iterator[Record]:
    colours = data.words("de", "text")["color"]
    for record, size in products(_PRODUCTS, _BRANDS, colours, letters="KLMSTX", sizes=range(18, 90), random=random):
        yield record | {
            "series": f"{record['brand']} {record['product']}",
            "size": " x ".join(map(str, size)),
            "weight": f"{random.uniform(0.4, 9):.1f}".replace(".", ","),
            "price": f"{random.randint(19, 189)},90",
        }


def _tenders(data: WorldData, random: Random) -> Iterator[Record]:
    for at in range(32):
        work, amount = _WORKS[at % len(_WORKS)]
        month = random.randint(2, 5)
        yield {
            "city": random.choice(data.cities("de")),
            "work": work,
            "number": f"{random.randint(1, 99):02}/2024-{random.randint(100, 999)}",
            "street": f"{random.choice(data.streets('de'))} {random.randint(1, 120)}",
            "plz": f"{random.randint(1_000, 99_000):05}",
            "amount": amount.format(n=random.randrange(40, 2_000, 10)),
            "deadline": f"{random.randint(1, 28)}.{month}.2024, {random.randint(9, 14)} Uhr",
            "begin": f"{random.randint(1, 28)}.{month + 2}.2024",
            "end": f"{random.randint(1, 28)}.{month + 5}.2024",
            "person": data.person("de", random),
        }


def _leaflets(data: WorldData, random: Random) -> Iterator[Record]:
    return leaflets("de-beipackzettel")


GERMAN: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = {
    "de-produkt": _products,
    "de-ausschreibung": _tenders,
    "de-beipackzettel": _leaflets,
}
"""Makers of records by template."""
