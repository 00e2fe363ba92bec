"""What a shell has on its command line when it asks how to go on."""

from __future__ import annotations

import os

COMPLETING = "_ARGCOMPLETE"
"""Variable of the environment by which a shell asks, as the code that `dedup completion` prints sets it."""


def words_before_cursor() -> list[str]:
    """Return the words behind the name of the program, the last one as far as it is typed."""
    typed = os.environ.get("COMP_LINE", "").encode()[: int(os.environ.get("COMP_POINT", "0"))]
    return typed.decode(errors="replace").split()[1:]
