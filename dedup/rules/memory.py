"""How long documents are remembered: for one run, for a time, for ever."""

from __future__ import annotations

import re
from dataclasses import dataclass

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
"""The units of times in settings and arguments."""

_TIME = re.compile(rf"([0-9]{{1,9}})\s*([{''.join(SECONDS)}])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Memory:
    """Which documents a new one is compared with.

    Attributes:
        of_run: only those of its own run.
        seconds: only those that were seen in so many seconds before the run began; None: all.
        name: as it is written in settings.
    """

    of_run: bool
    seconds: int | None
    name: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, name: str) -> Memory:
        """Read the setting `DEDUP_MEMORY`: `run`, `for ever`, or a time such as `30d`.

        Raises:
            ValueError: it is none of these; the message is what they are.
        """
        if name == "run":
            return cls(of_run=True, seconds=None, name=name)
        if name in ("for ever", "forever"):
            return FOR_EVER
        if found := _TIME.fullmatch(name):
            return cls(of_run=False, seconds=int(found[1]) * SECONDS[found[2]], name=f"{int(found[1])}{found[2]}")
        raise ValueError("'run', 'for ever', or a time such as '30d' (s, m, h, d, w)")


FOR_EVER = Memory(of_run=False, seconds=None, name="for ever")
"""Everything that the database knows."""
