"""Records of the English templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from benchmarks.labelled.records_data import Record, WorldData, facts, leaflets

_CANDIDATES = ["Harold Whitcomb", "Maria Delgado", "Ellen Strand", "Robert Okafor", "Janet Pruitt"]


def _results(data: WorldData, random: Random) -> Iterator[Record]:
    states, places = data.words("en", "address")["state"]["name"], data.cities("en")
    for state in random.sample(states, 3):
        for place in random.sample(places, 11):
            registered = random.randint(4_000, 90_000)
            cast = int(registered * random.uniform(0.41, 0.78))
            no = int(cast * random.uniform(0.3, 0.6))
            yield {
                "county": f"{place} County",
                "state": state,
                "registered": f"{registered:,}",
                "cast": f"{cast:,}",
                "turnout": round(100 * cast / registered, 1),
                "precincts": random.randint(9, 80),
                "governor": _table(_CANDIDATES[:3], cast, random),
                "commissioner": _table(_CANDIDATES[3:], int(cast * 0.96), random),
                "yes": f"{cast - no:,}",
                "no": f"{no:,}",
            }


def _table(names: list[str], votes: int, random: Random) -> list[tuple[str, str, str]]:
    shares = [random.uniform(0.5, 2) for _ in names]
    return [(name, f"{int(votes * share / sum(shares)):,}", f"{100 * share / sum(shares):.1f}%")
            for name, share in zip(names, shares, strict=True)]  # fmt: skip


def _leaflets(data: WorldData, random: Random) -> Iterator[Record]:
    for record in leaflets("en-leaflet"):
        colour, form = random.choice(["white", "pink", "yellow"]), random.choice(["round", "oval", "oblong"])
        packs = random.choice(["20, 50 and 100", "28 and 84", "30, 60 and 90", "10 and 30"])
        yield record | {"look": f"{colour} and {form}", "packs": packs}


def _storms(data: WorldData, random: Random) -> Iterator[Record]:
    places = [line.split("|") for line in facts("en-coast")]
    for name in facts("en-storms"):
        lat, lon, wind = random.uniform(24, 29), random.uniform(78, 92), random.randint(60, 120)
        first = random.randrange(len(places) - 4)
        for number in range(4):
            lat, lon = lat + random.uniform(0.4, 1.6), lon + random.uniform(0.2, 1.2)
            wind += random.randint(-10, 15)
            place, state = places[first + number]
            until = places[(first + number + 2) % len(places)]
            yield {
                "series": name,
                "storm": name,
                "headline": f"{name}: advisory number {number * 4 + 3}",
                "lead": _lead(name, number, place, wind),
                "time": random.choice(["5 AM EDT", "11 AM EDT", "5 PM EDT", "11 PM EDT"]),
                "lat": round(lat, 1),
                "lon": round(lon, 1),
                "distance": random.randrange(40, 400, 5),
                "direction": random.choice(["south", "southeast", "south-southeast", "southwest"]),
                "place": f"{place}, {state}",
                "course": random.choice(["north", "northwest", "north-northwest", "northeast"]),
                "speed": random.randint(5, 18),
                "wind": wind // 5 * 5,
                "pressure": 1010 - wind // 2,
                "warning": f"A hurricane warning is in effect from {place}, {state}, to {until[0]}, {until[1]}.",
                "rain": random.choice(["3 to 6", "4 to 8", "5 to 10", "8 to 12"]),
            }


def _lead(name: str, number: int, place: str, wind: int) -> str:
    return [
        f"{name} is strengthening over warm water and could reach the coast near {place} within two days.",
        f"{name} has winds of {wind // 5 * 5} mph now; residents near {place} are told to leave low-lying areas.",
        f"The eyewall of {name} is nearing {place}; conditions are getting worse along the coast.",
        f"{name} has made landfall near {place} and is weakening while it moves inland.",
    ][number]


ENGLISH: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = {
    "en-election": _results,
    "en-leaflet": _leaflets,
    "en-storm": _storms,
}
"""Makers of records by template."""
