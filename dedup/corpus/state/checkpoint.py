"""The state of a run in a folder, with which it goes on when it was interrupted.

The large files in it only grow. `checkpoint.json` says how much of them is valid, and is replaced as a
whole once that much is on the disk: whenever a run is killed, the folder is that of the last checkpoint.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dedup.corpus.deciding.known import Lengths
from dedup.corpus.reading.documents import Position
from dedup.corpus.state.tally import Tally
from dedup.corpus.writing.outputs import write_json
from dedup.errors import InputError
from dedup.rules.settings import RuleSettings
from dedup.signature.schemes import find_scheme
from dedup.signature.word_lists import pack

VERSION = 2

CHECKPOINT = "checkpoint.json"
"""The file that says how far a run is."""


@dataclass(frozen=True)
class Checkpoint:
    """How far a run is.

    Attributes:
        about: what the run is about; see `dedup.corpus.job.job.Job.about`.
        position: where the last item stands that was taken; None: nothing was.
        lengths: how much of the files of known documents is valid.
        members: how much of the file of members is.
        outputs: the checkpoints of the outputs, by name.
        tally: what was counted.
        is_read: whether everything has been read and decided.
    """

    about: dict[str, Any]
    position: Position | None
    lengths: Lengths
    members: int
    outputs: dict[str, int]
    tally: Tally
    is_read: bool

    def save(self, folder: Path) -> None:
        """Replace the checkpoint that is there."""
        write_json(folder / CHECKPOINT, {"version": VERSION, **asdict(self)})

    @classmethod
    def load(cls, folder: Path) -> Checkpoint | None:
        """Return the checkpoint of a folder; None if there is none.

        Raises:
            InputError: it cannot be read.
        """
        try:
            values = json.loads((folder / CHECKPOINT).read_text(encoding="utf-8"))
            if values.pop("version") != VERSION:
                raise InputError(f"{folder}: written by another version of this program; begin anew with --force")
            position = values.pop("position")
            return cls(
                position=None if position is None else Position(*position),
                lengths=Lengths(*values.pop("lengths")),
                tally=Tally(**values.pop("tally")),
                **values,
            )
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"{folder / CHECKPOINT}: not a checkpoint ({error}); begin anew with --force") from None


def forget(folder: Path) -> None:
    """Remove the checkpoint of a folder, if there is one: nothing goes on from it any more."""
    (folder / CHECKPOINT).unlink(missing_ok=True)


def about_settings(settings: RuleSettings) -> dict[str, str]:
    """Return the rules as they are saved; of the settings of a crawl nothing is."""
    # The scheme says which words the dictionary has; where its file is makes no difference.
    named = {each.name: str(getattr(settings, each.name)) for each in fields(RuleSettings) if each.name != "dictionary"}
    scheme = find_scheme(settings.scheme)
    return named | {"scheme": scheme.name} | ({"word_lists": pack(scheme.word_lists)} if scheme.word_lists else {})


def require_same(saved: dict[str, Any], wanted: dict[str, Any], folder: Path | str) -> None:
    """Refuse to go on with another run.

    Raises:
        InputError: something is not the same.
    """
    for name, value in wanted.items():
        what = differing_settings(saved[name], value) if name == "settings" else name
        if what and saved.get(name) != value:
            raise InputError(
                f"{folder}: an unfinished run with other {what}; give the same command to go on with it, or --force "
                "to begin anew"
            )


def require_made_with(index: str, saved: dict[str, str], settings: RuleSettings) -> None:
    """Refuse to begin with an index that was made with other settings.

    Args:
        index: where it is, for the message.
        saved: its settings, as `about_settings` returns them.
        settings: those that are wanted.

    Raises:
        InputError: they are not the same.
    """
    wanted = about_settings(settings)
    if unknown := [name for name in wanted if name not in saved and name != "word_lists"]:
        names = ", ".join(unknown)
        raise InputError(f"{index}: made by an earlier version, which had no {names}; build the index again")
    if settings_differ := differing_settings(saved, wanted):
        raise InputError(f"{index}: made with other settings ({settings_differ}); give the same ones")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from working on the same state.

    Raises:
        InputError: one does.
    """
    with (folder / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another process is at work on these outputs; wait for it") from None
        yield


def differing_settings(saved: dict[str, str], wanted: dict[str, str]) -> str:
    """Say in which settings, as `about_settings` returns them, two differ; nothing if in none."""
    return ", ".join(
        f"{name} {saved[name]} instead of {value}" if name in saved else f"no {name}"
        for name, value in wanted.items()
        if saved.get(name) != value and name != "word_lists"  # the scheme names them, and by what is in them
    )
