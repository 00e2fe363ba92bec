"""What records of made-up sites are made of: names of people and places of mimesis, and facts in files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.labelled.packages import PYPI, Package, read_texts

Record = dict[str, Any]
"""Values of a template's fields: texts, and lists of texts or of rows."""

_PACKAGE = Package(PYPI, "mimesis", "22.2.0")
_PATTERN = r"mimesis/datasets/(?:de|en|zh)/\w+\.json"


class WorldData:
    """Lists of mimesis, read when they are asked for.

    Attributes:
        cache: the folder that packages are kept in.
    """

    def __init__(self, cache: Path) -> None:
        self.cache = cache

    @cached_property
    def _files(self) -> dict[str, Any]:
        return {path: json.loads(text) for path, text in read_texts(_PACKAGE, self.cache, _PATTERN).items()}

    def words(self, language: str, name: str) -> dict[str, Any]:
        """Return the lists of a kind: `address`, `person` or `text`."""
        return dict(self._files[f"mimesis/datasets/{language}/{name}.json"])

    def person(self, language: str, random: Random) -> str:
        """Return the name of a person who does not exist."""
        people = self.words(language, "person")
        given = random.choice(people["names"][random.choice(["female", "male"])])
        family = random.choice(people["surnames"])
        return f"{family}{given}" if language == "zh" else f"{given} {family}"

    def cities(self, language: str) -> list[str]:
        """Return names of cities."""
        return sorted({each.strip() for each in self.words(language, "address")["city"]})

    def streets(self, language: str) -> list[str]:
        """Return names of streets."""
        return list(self.words(language, "address")["street"]["name"])


@cache
def world_data(folder: Path) -> WorldData:
    """Return the data of the package that is kept in a folder."""
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
