"""Who has taken a URL, for how long, and whether that one is still there."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Select, and_, bindparam, func, select, union_all, update

from crawler.frontier.schema import COLUMNS, IN_ORDER, OF_RUN, SUSPECT, State, WorkerState, hosts, is_in, urls
from dedup.sql.database import insert_into

LEASE_SECONDS = 60.0
"""How long a URL belongs to a worker that does not say that it is alive."""

RENEWAL_SECONDS = LEASE_SECONDS / 3
"""How often it says so."""


MOST_HOSTS = 16
"""How many hosts a worker has at most, if there are so many: as many as the requests it makes at once."""

TURN_SECONDS = 60.0
"""How long a worker keeps a host while another has been waiting for as long."""

_OF_RUN = hosts.c.run_id == bindparam("run")
_MINE = and_(_OF_RUN, hosts.c.worker == bindparam("me"))
_IS_OPEN = hosts.c.is_open == 1
_QUEUED = select(urls.c.id).where(urls.c.run_id == hosts.c.run_id, urls.c.host == hosts.c.host, is_in(State.QUEUED))
_OWNED = select(hosts.c.host, hosts.c.owned_since, _QUEUED.exists().label("has_queued")).where(_MINE)
_OWNED = _OWNED.order_by(hosts.c.owned_since, hosts.c.id)
_SOME_OPEN = select(hosts.c.id).where(_OF_RUN, _IS_OPEN).limit(bindparam("most")).subquery()
_COUNT_OPEN = select(func.count()).select_from(_SOME_OPEN)
_UNOWNED = select(hosts.c.host, hosts.c.free_from, hosts.c.delay).where(_OF_RUN, _IS_OPEN, hosts.c.worker.is_(None))
# Who has waited for longest comes first.
_UNOWNED = _UNOWNED.order_by(hosts.c.free_from, hosts.c.id).limit(bindparam("most"))
_ONE = and_(_OF_RUN, hosts.c.host == bindparam("name"))
_CLAIM = update(hosts).where(_ONE).values(worker=bindparam("me"), owned_since=bindparam("now"))
_FREED = {"worker": None, "owned_since": None}
_FREE = (
    update(hosts)
    .where(_ONE, hosts.c.worker == bindparam("me"))
    .values(is_open=bindparam("still_open"), free_from=bindparam("again_from"), delay=bindparam("learned"), **_FREED)
)
_FREE_OF_GONE = (
    update(hosts)
    .where(_OF_RUN, hosts.c.worker.in_(bindparam("gone", expanding=True)))
    .values(free_from=bindparam("now") + hosts.c.delay, **_FREED)
)


def is_gone(worker: str, me: str) -> bool:
    """Say whether a worker is known to have ended: it ran on this machine, and its process is not there.

    Args:
        worker: its name.
        me: the name of the worker that asks.
    """
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    own_host, _, own_rest = me.rpartition(":")[0].rpartition(":")
    if host != own_host or worker == me:
        return False
    if rest == own_rest:  # the number of a process that ended has been given to this one
        return True
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):  # it is there, and somebody else's
        return False
    return _is_zombie(rest)


def _is_zombie(number: str) -> bool:
    """Say whether a process has ended and only its parent has not noticed, as in containers where nobody does."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not every system has these files
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]


def worker_name() -> str:
    """Return a name for this process that no other one has or had: host, number, something random."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


class HostLeases:
    """The hosts of one worker of a run; all its methods are called inside a writing transaction.

    A host's lease is that of its worker: `free_of` ends it.

    Args:
        run: the run's id.
        worker: this worker's name.
        delay: returns the seconds between two requests to a host, as far as they are known here.
        dialect: what SQLAlchemy calls the kind of the database.
    """

    def __init__(self, run: int, worker: str, delay: Callable[[str], float], dialect: str) -> None:
        self._names = {"run": run, "me": worker}
        self._delay = delay
        self._leaving: set[str] = set()
        self._add = insert_into(hosts, dialect).on_conflict_do_update(
            index_elements=[hosts.c.run_id, hosts.c.host], set_={"is_open": 1}
        )

    @property
    def leaving(self) -> frozenset[str]:
        """Hosts that are given to others once nothing is under way there."""
        return frozenset(self._leaving)

    def open_all(self, connection: Connection) -> None:
        """Let all hosts with queued URLs be known, whoever queued them."""
        found = select(urls.c.host).where(OF_RUN, is_in(State.QUEUED)).distinct()
        self.open(connection, connection.execute(found, self._names).scalars())

    def open(self, connection: Connection, names: Iterable[str]) -> None:
        """Note that these hosts have queued URLs."""
        row = {"run_id": self._names["run"], "is_open": 1, "free_from": 0.0}
        rows = [{**row, "host": name, "delay": self._delay(name)} for name in sorted(set(names))]
        if rows:
            connection.execute(self._add, rows)

    def tend(
        self, connection: Connection, now: float, workers: int, held: Counter[str], worker: WorkerState
    ) -> tuple[list[str], dict[str, float]]:
        """Let go of hosts, get others, and choose which ones to leave next.

        A worker has its share of the hosts with queued URLs, and at least one if there is any.

        Args:
            connection: inside a writing transaction.
            now: the time, in seconds since 1970.
            workers: how many workers there are.
            held: how many URLs of each host are under way here.
            worker: this worker: its delays and pauses.

        Returns:
            The hosts whose URLs may be taken; and of those that are new, the delay that others have learned.
        """
        owned = connection.execute(_OWNED, self._names).all()
        self._leaving &= {row.host for row in owned}
        ended = [row for row in owned if not held[row.host] and (row.host in self._leaving or not row.has_queued)]
        self._free(connection, now, {row.host: row.has_queued for row in ended}, worker)
        own = {row.host: row.owned_since for row in owned if row not in ended and row.host not in self._leaving}
        share = self._share(connection, workers)
        unowned = connection.execute(_UNOWNED, {**self._names, "most": MOST_HOSTS}).all()
        claimed = [row for row in unowned if row.free_from <= now][: max(0, share - len(own))]
        if claimed:
            rows = [{**self._names, "name": row.host, "now": now} for row in claimed]
            connection.execute(_CLAIM, rows)
        own |= dict.fromkeys((row.host for row in claimed), now)
        is_waiting = any(row.free_from <= now - TURN_SECONDS for row in unowned if row not in claimed)
        self._leaving |= set(_choose_to_leave(own, share, held, now, is_another_waiting=is_waiting))
        return [host for host in own if host not in self._leaving], {row.host: row.delay for row in claimed}

    def free_all(self, connection: Connection, now: float, worker: WorkerState) -> None:
        """Let go of all hosts."""
        owned = connection.execute(_OWNED, self._names).all()
        self._free(connection, now, {row.host: row.has_queued for row in owned}, worker)

    def free_of(self, connection: Connection, now: float, gone: Collection[str]) -> None:
        """Take the hosts of workers that have ended from them; others get them after the hosts' delay."""
        connection.execute(_FREE_OF_GONE, {**self._names, "gone": list(gone), "now": now})

    def _free(self, connection: Connection, now: float, names: Mapping[str, bool], worker: WorkerState) -> None:
        rows = []
        for name, is_open in names.items():
            delay = worker.delays.get(name, self._delay(name))
            free_from = now + max(delay, worker.pauses.get(name, 0.0))
            rows.append(
                {**self._names, "name": name, "still_open": int(is_open), "again_from": free_from, "learned": delay}
            )
        if rows:
            connection.execute(_FREE, rows)
        self._leaving -= set(names)

    def _share(self, connection: Connection, workers: int) -> int:
        values = {**self._names, "most": MOST_HOSTS * workers}
        return max(1, ceil(connection.execute(_COUNT_OPEN, values).scalar_one() / workers))


def _choose_to_leave(
    own: Mapping[str, float], share: int, held: Counter[str], now: float, *, is_another_waiting: bool
) -> list[str]:
    """Return what is above a worker's share, the quickest to leave first; or who has had its turn."""
    surplus = len(own) - share
    if surplus > 0:
        return sorted(own, key=lambda host: held[host])[:surplus]
    if not is_another_waiting:
        return []
    oldest = min(own, key=lambda host: own[host], default=None)
    return [oldest] if oldest is not None and now - own[oldest] > TURN_SECONDS else []


def next_urls(connection: Connection, run: int, names: list[str], limit: int, held: Counter[str]) -> list[Any]:
    """Return what is to be fetched next from some hosts, no host crowding out the others.

    Args:
        connection: inside a writing transaction.
        run: the run's id.
        names: the hosts.
        limit: how many URLs at most.
        held: how many URLs of each host are under way already.

    Returns:
        Rows with the columns of `TakenUrl`, in their order, see `crawler.frontier.schema`.
    """
    most = ceil((limit + sum(held[name] for name in names)) / max(1, len(names)))
    wanted = {name: most - held[name] for name in names if held[name] < most}
    if not wanted:
        return []
    values: dict[str, Any] = {"run": run}
    for number, (name, count) in enumerate(wanted.items()):
        values |= {f"host_{number}": name, f"limit_{number}": min(count, limit)}
    rows = connection.execute(_next_of(len(wanted)), values).all()
    return sorted(rows, key=lambda row: (-row.priority, row.depth, row.id))[:limit]


@cache
def _next_of(count: int) -> Select[Any]:
    # One by one each host is a range of an index; together they would have to be sorted, all that is queued.
    each = [
        select(*COLUMNS)
        .where(OF_RUN, is_in(State.QUEUED), urls.c.attempts < SUSPECT, urls.c.host == bindparam(f"host_{number}"))
        .order_by(*IN_ORDER)
        .limit(bindparam(f"limit_{number}"))
        .subquery()
        .select()
        for number in range(count)
    ]
    return select(union_all(*each).subquery())
