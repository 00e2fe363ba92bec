"""What a run is called that nobody has named."""

from __future__ import annotations

from datetime import UTC, datetime


def name_by_time() -> str:
    """Return the name of a run that starts now: the time in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
