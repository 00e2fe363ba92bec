"""Records of the German templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from benchmarks.labelled.records_data import Record, WorldData, facts, leaflets, products

_PARTIES = ["CDU", "SPD", "Grüne", "FDP", "Freie Wähler", "Die Linke", "AfD", "Bürgerliste"]
_PRODUCTS = {
    "Kaffeemaschine": ("Mit Zeitschaltuhr und Glaskanne für zehn Tassen.", "Kunststoff, Edelstahl"),
    "Wasserkocher": ("Schaltet sich bei Trockenlauf ab und fasst 1,7 Liter.", "Edelstahl"),
    "Rucksack": ("Mit Fach für den Rechner und gepolsterten Trägern.", "Polyester"),
    "Schreibtischlampe": ("Stufenlos dimmbar, Arm in drei Richtungen verstellbar.", "Aluminium"),
    "Regal": ("Vier Böden, jeder trägt bis zu dreißig Kilogramm.", "Kiefer, geölt"),
}
_BRANDS = ["Nordhaus", "Velino", "Karlsen", "Brandt & Söhne", "Homera"]
_WORKS = [
    ("Sanierung des Daches der Grundschule", "{n} Quadratmeter Ziegeldach mit Dämmung"),
    ("Erneuerung der Straßenbeleuchtung", "{n} Leuchten mit LED einschließlich Masten"),
    ("Gebäudereinigung im Rathaus", "{n} Quadratmeter Bodenfläche, fünfmal in der Woche"),
    ("Neubau eines Spielplatzes", "{n} Quadratmeter mit acht Geräten"),
    ("Lieferung von Schulmöbeln", "{n} Tische und ebenso viele Stühle"),
]


def _jobs(data: WorldData, random: Random) -> Iterator[Record]:
    jobs = [each.partition(" / ")[0] for each in data.words("de", "person")["occupation"]]
    for at in range(32):
        # A company looks for the same people in two cities.
        if at % 2 == 0:
            job, company = random.choice(jobs), random.choice(data.words("de", "finance")["company"]["name"])
            tasks = random.sample(facts("de-tasks"), 4)
        yield {
            "series": f"{job} {company} {at // 2}",
            "job": job,
            "city": random.choice(data.cities("de")),
            "company": company,
            "start": random.choice(["nächstmöglichen Zeitpunkt", "1. April", "1. Juli", "1. September"]),
            "hours": random.choice(["Vollzeit", "Teilzeit", "Vollzeit oder Teilzeit"]),
            "number": f"{random.randint(1000, 9999)}-{random.randint(10, 99)}",
            "tasks": tasks,
            "years": random.choice(["zwei", "drei", "fünf"]),
            "person": data.person("de", random),
            "phone": f"0{random.randint(200, 999)} {random.randint(10_000, 999_999)}",
        }


def _elections(data: WorldData, random: Random) -> Iterator[Record]:
    for city in random.sample(data.cities("de"), 32):
        entitled = random.randint(3_000, 60_000)
        voted = int(entitled * random.uniform(0.42, 0.71))
        weights = {party: random.uniform(0.3, 3) for party in _PARTIES}
        shares = {party: weight / sum(weights.values()) for party, weight in weights.items()}
        first, second, *_ = sorted(_PARTIES, key=lambda party: -shares[party])
        yield {
            "city": city,
            "entitled": f"{entitled:,}".replace(",", "."),
            "voted": f"{voted:,}".replace(",", "."),
            "turnout": f"{100 * voted / entitled:.1f}".replace(".", ","),
            "invalid": random.randint(20, 900),
            "parties": [
                (party, str(int(voted * shares[party])), f"{100 * shares[party]:.1f} %".replace(".", ","))
                for party in _PARTIES
            ],
            "first": first,
            "second": second,
            "person": data.person("de", random),
        }


def _products(data: WorldData, random: Random) -> Iterator[Record]:
    colours = data.words("de", "text")["color"]
    for record, size in products(_PRODUCTS, _BRANDS[:3], colours, letters="KLMSTX", sizes=range(18, 90), random=random):
        yield record | {
            "series": f"{record['brand']} {record['product']}",
            "size": " x ".join(map(str, size)),
            "weight": f"{random.uniform(0.4, 9):.1f}".replace(".", ","),
            "price": f"{random.randint(19, 189)},90",
        }


def _recipes(data: WorldData, random: Random) -> Iterator[Record]:
    food = data.words("de", "food")
    for dish in random.sample(food["dishes"], 32):
        a, b, c = random.sample(food["vegetables"], 3)
        spice, drink = random.choice(food["spices"]), random.choice(food["drinks"])
        values = {"a": a, "b": b, "spice": spice, "drink": drink, "degrees": random.randrange(150, 220, 10)}
        yield {
            "dish": dish,
            "persons": random.choice(["zwei", "vier", "sechs"]),
            "minutes": random.randrange(15, 90, 5),
            "wait": random.randrange(10, 120, 10),
            "kcal": random.randrange(180, 800, 10),
            "ingredients": [
                f"{random.randrange(100, 900, 50)} g {a}",
                f"{random.randint(1, 4)} Stück {b}",
                f"{random.randrange(50, 300, 50)} g {c}",
                f"{random.randint(1, 3)} EL {spice}",
                f"{random.randrange(100, 500, 50)} ml {drink}",
            ],
            "steps": [
                step.format(**values, minutes=random.randrange(10, 60, 5))
                for step in random.sample(facts("de-cooking"), random.randint(3, 6))
            ],
        }


def _matches(data: WorldData, random: Random) -> Iterator[Record]:
    for league in ("Bezirksliga Nord", "Kreisliga West", "Landesliga Süd"):
        clubs = [
            f"{random.choice(['SV', 'TSV', 'FC', 'VfB', 'SpVgg'])} {city}"
            for city in random.sample(data.cities("de"), 10)
        ]
        for day in range(1, 11):
            random.shuffle(clubs)
            games = [
                (
                    f"{home} – {guest}",
                    f"{random.randint(0, 5)}:{random.randint(0, 4)}",
                    f"{random.randint(40, 900)} Zuschauer",
                )
                for home, guest in zip(clubs[::2], clubs[1::2], strict=True)
            ]
            yield {
                "series": league,
                "league": league,
                "day": day,
                "date": f"{random.randint(1, 28)}.{8 + day // 4}.2023",
                "games": games,
                "first": random.choice(clubs),
                "points": 2 * day + random.randint(0, day),
                "player": data.person("de", random),
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
    "de-job": _jobs,
    "de-wahl": _elections,
    "de-produkt": _products,
    "de-rezept": _recipes,
    "de-spielplan": _matches,
    "de-ausschreibung": _tenders,
    "de-beipackzettel": _leaflets,
}
"""Makers of records by template."""
