"""Records of the English templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from random import Random

from benchmarks.labelled.records_data import Record, WorldData, facts, leaflets

_CANDIDATES = ["Harold Whitcomb", "Maria Delgado", "Ellen Strand", "Robert Okafor", "Janet Pruitt"]

_COURSES = {
    "Mathematics": ["Linear Algebra", "Real Analysis", "Number Theory", "Topology", "Numerical Methods"],
    "Biology": ["Genetics", "Ecology", "Cell Biology", "Plant Physiology", "Marine Biology"],
    "History": ["The Ancient World", "Medieval Europe", "Modern East Asia", "The Atlantic World", "History of Science"],
    "Economics": ["Microeconomics", "Macroeconomics", "Econometrics", "Labor Economics", "Game Theory"],
    "Chemistry": ["Organic Chemistry", "Physical Chemistry", "Biochemistry", "Spectroscopy", "Polymer Chemistry"],
    "Linguistics": ["Phonetics", "Syntax", "Semantics", "Historical Linguistics", "Language Acquisition"],
}


def _elements(data: WorldData, random: Random) -> Iterator[Record]:
    for each in data.elements:
        if 20 < each["atomic_number"] < 84 and all(
            each[name] for name in ("description", "sources", "uses", "density")
        ):
            yield {
                "number": each["atomic_number"],
                "weight": each["atomic_weight"],
                "configuration": each["electronic_configuration"],
                "en": each["en_pauling"] or "–",
                "origin": each["name_origin"],
                **each,
            }


def _county_results(data: WorldData, random: Random) -> Iterator[Record]:
    # The first three are those of the labelled sets.
    for state in dict.fromkeys(("OH", "GA", "KS", *data.states)):
        for county in [each for each in data.counties if each["state"] == state][:11]:
            registered = random.randint(4_000, 90_000)
            cast = int(registered * random.uniform(0.41, 0.78))
            no = int(cast * random.uniform(0.3, 0.6))
            yield {
                "county": county["name"],
                "state": data.states[state]["name"],
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


def _threads(data: WorldData, random: Random) -> Iterator[Record]:
    cities = data.cities("en")
    for topic in facts("en-thread-topics"):
        people = [data.person("en", random) for _ in range(6)]
        causes = random.sample(facts("en-thread-causes"), 5)
        for number in (1, 2):
            posts = []
            for _ in range(random.randint(4, 7)):
                said = " ".join(random.sample(facts("en-thread-posts"), random.randint(2, 4)))
                posts.append(f"{random.choice(people)} wrote: " + _filled(said, causes, cities, random))
            yield {"topic": topic, "number": number, "pages": 2, "posts": posts, "series": topic}


def _filled(said: str, causes: list[str], cities: list[str], random: Random) -> str:
    return said.format(
        month=random.choice(["spring", "summer", "autumn", "winter"]),
        cause=random.choice(causes),
        price=random.randint(15, 900),
        days=random.randint(2, 14),
        year=random.randint(1998, 2021),
        weekday=random.choice(["Monday", "Wednesday", "Friday", "Sunday"]),
        city=random.choice(cities),
        times=random.randint(2, 9),
    )


def _cars(data: WorldData, random: Random) -> Iterator[Record]:
    condition = ["One owner, garaged.", "Full service history.", "New tires and brakes.", "Some rust at the doors.",
                 "Radio and roof rack included.", "Repainted, engine overhauled."]  # fmt: skip
    known = [each for each in data.cars if each["Horsepower"] and each["Miles_per_Gallon"]]
    for each in known[::3]:
        yield {
            "name": each["Name"].title(),
            "year": each["Year"][:4],
            "origin": each["Origin"],
            "sentence": " ".join(random.sample(condition, 2)),
            "cylinders": each["Cylinders"],
            "displacement": each["Displacement"],
            "power": each["Horsepower"],
            "weight": each["Weight_in_lbs"],
            "acceleration": each["Acceleration"],
            "mpg": each["Miles_per_Gallon"],
            "price": f"{random.randrange(1_900, 24_000, 50):,}",
        }


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


def _hotels(data: WorldData, random: Random) -> Iterator[Record]:
    # The first are those of the labelled sets.
    for each in chain.from_iterable(data.airports[start::97] for start in range(7, 97)):
        low = random.randint(49, 120)
        yield {
            **{name: each[name] for name in ("iata", "city")},
            "airport": f"{each['name']} Airport",
            "state": data.states.get(each["state"], {"name": each["state"]})["name"],
            "count": random.randint(4, 38),
            "low": low,
            "average": low + random.randint(15, 90),
            "picks": [
                f"{hotel} {each['city']}: {random.uniform(0.4, 9.5):.1f} miles, "
                f"{random.randint(60, 98) / 10} of 10, from ${low + random.randint(0, 80)}."
                for hotel in random.sample(facts("en-hotel-chains"), 3)
            ],
            "lat": round(float(each["latitude"]), 4),
            "lon": round(float(each["longitude"]), 4),
        }


def _courses(data: WorldData, random: Random) -> Iterator[Record]:
    days = ["Mon and Wed", "Tue and Thu", "Fri"]
    university = data.words("en", "person")["university"][0].partition(" (")[0]
    for department, courses in _COURSES.items():
        for at, course in enumerate(courses):
            yield {
                "university": university,
                "course": course,
                "code": f"{department[:4].upper()} {random.randint(100, 499)}",
                "credits": random.choice([3, 4, 6]),
                "department": f"Department of {department}",
                "term": random.choice(["fall", "spring", "summer"]),
                "about": f"It treats the foundations of {course.lower()} and its place in {department.lower()}.",
                "teacher": data.person("en", random),
                "time": f"{random.choice(days)}, {random.randint(8, 16)}:{random.randint(0, 3) * 15:02}",
                "room": f"Hall {random.choice('ABCDEF')}, room {random.randint(100, 420)}",
                "before": courses[at - 1] if at else "none",
            }


ENGLISH: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = {
    "en-elements": _elements,
    "en-election": _county_results,
    "en-leaflet": _leaflets,
    "en-thread": _threads,
    "en-cars": _cars,
    "en-storm": _storms,
    "en-hotels": _hotels,
    "en-course": _courses,
}
"""Makers of records by template."""
