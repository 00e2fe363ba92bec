"""What is asked of the frontier's table, and what is changed in it, over and over."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, func, literal, select, update

from crawler.frontier.entries import TakenUrl
from crawler.frontier.table import SUSPECT, State, urls


def is_in(state: State) -> Any:
    """Return the condition that a URL is in a state."""
    # Written into the statement: only then does a partial index serve it.
    return urls.c.state == literal(state.value, literal_execute=True)


def _attempts(comparison: str) -> Any:
    return urls.c.attempts.op(comparison)(literal(SUSPECT, literal_execute=True))


OF_RUN = urls.c.run_id == bindparam("run")
COLUMNS = [urls.c[name] for name in TakenUrl._fields]
_OF_OTHER_HOSTS = urls.c.host.not_in(bindparam("but", expanding=True))
NEXT = (
    select(*COLUMNS)
    .where(OF_RUN, is_in(State.QUEUED), _attempts("<"), _OF_OTHER_HOSTS)
    .order_by(urls.c.priority.desc(), urls.c.id)
    .limit(bindparam("limit"))
)
_SUSPECT = (
    select(*COLUMNS)
    .where(OF_RUN, is_in(State.QUEUED), _attempts(">="))
    .order_by(urls.c.attempts, urls.c.priority.desc(), urls.c.id)
    .limit(1)
)
NEXT_SUSPECT = _SUSPECT.where(_OF_OTHER_HOSTS)
NEXT_SUSPECT_OF = _SUSPECT.where(urls.c.host.in_(bindparam("hosts", expanding=True)))
OF_OTHERS = and_(OF_RUN, is_in(State.TAKEN), urls.c.worker != bindparam("me"))
IS_LEFT = select(
    select(urls.c.id).where(OF_RUN, is_in(State.QUEUED)).exists().label("queued"),
    select(urls.c.id).where(OF_OTHERS).exists().label("elsewhere"),
)
MINE = and_(OF_RUN, is_in(State.TAKEN), urls.c.worker == bindparam("me"))
FREE = {"worker": None, "lease_until": None}
TAKE = (
    update(urls)
    .where(urls.c.id.in_(bindparam("ids", expanding=True)))
    .values(state=State.TAKEN.value, worker=bindparam("me"), lease_until=bindparam("until"))
)
FINISH = update(urls).where(urls.c.id == bindparam("row")).values(state=State.DONE.value, kept=bindparam("was_kept"))
FINISH = FINISH.values(**FREE)
REQUEUE = (
    update(urls)
    .where(urls.c.id == bindparam("row"), urls.c.state == State.TAKEN.value, urls.c.worker == bindparam("me"))
    .values(state=State.QUEUED.value, priority=bindparam("new_priority"), meta=bindparam("new_meta"), **FREE)
)
PUT_BACK = (
    update(urls)
    .where(urls.c.id == bindparam("row"), urls.c.state == State.TAKEN.value, urls.c.worker == bindparam("me"))
    .values(state=State.QUEUED.value, **FREE)
)
_PARK = update(urls).where(OF_RUN, is_in(State.QUEUED), urls.c.host.in_(bindparam("parked", expanding=True)))
PARK = _PARK.values(state=State.PARKED.value)
PARK_ROWS = PARK.where(urls.c.id.in_(bindparam("ids", expanding=True)))
UNPARK = update(urls).where(OF_RUN, is_in(State.PARKED)).values(state=State.QUEUED.value)
COUNT_PARKED = select(urls.c.host, func.count()).where(OF_RUN, is_in(State.PARKED)).group_by(urls.c.host)
MY_ROWS = select(urls.c.id, urls.c.host).where(MINE)
RELEASE = update(urls).where(MINE).values(state=State.QUEUED.value, **FREE)
RENEW = update(urls).where(MINE).values(lease_until=bindparam("until"))
COUNTS = select(urls.c.state, func.count(), func.sum(urls.c.kept)).where(OF_RUN).group_by(urls.c.state)
