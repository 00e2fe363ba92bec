"""The URLs of databases: read, shown without their passwords, and given to commands."""

from __future__ import annotations

import os
import re

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dedup.errors import SettingsError

_USER_AND_PASSWORD = re.compile("//.*@")
_TORN_PASSWORD = re.compile("//[^:/]*:[^@]*@.*@")


def url_of(name: str) -> str:
    """Return the URL of a database that is named by a URL or as an SQLite file, whose name may have any letters."""
    return name if "://" in name else URL.create("sqlite", database=name).render_as_string()


def parse_url(url: str) -> URL:
    """Return a database URL, with the driver that is used for it.

    Raises:
        SettingsError: it is none, or names an engine that is not supported.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        shown = _USER_AND_PASSWORD.sub("//***@", url)
        raise SettingsError(
            f"{shown!r} is not a database URL: write sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from None
    if _TORN_PASSWORD.search(url):
        # What is behind the first @ would be taken for the host, and shown.
        shown = _USER_AND_PASSWORD.sub("//***@", url)
        raise SettingsError(f"{shown!r}: an @ that belongs to the password is written %40")
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise SettingsError(f"databases of the kind {parsed.drivername!r} are not supported: use sqlite or postgresql")
    has_server = any(each is not None for each in (parsed.username, parsed.password, parsed.host, parsed.port))
    if parsed.get_backend_name() == "sqlite" and (has_server or parsed.database in (None, "", ":memory:")):
        raise SettingsError("an SQLite database needs a file, since several threads share it: write sqlite:///FILE")
    return parsed


def shown_url(url: URL) -> str:
    """Return a database URL as it may be shown: without its password, which parameters can hold too."""
    shown = {name: value for name, value in url.query.items() if name == "host"}
    backend = url.set(drivername=url.get_backend_name(), query=shown)
    return (backend if url.password else backend._replace(password=None)).render_as_string(hide_password=True)


def option_naming(url: str) -> list[str]:
    """Return the option by which a command reads a database, to be pasted: without the password.

    Where `DEDUP_DATABASE_URL` of the environment holds a URL with a password, commands need no option; elsewhere
    libpq reads the password from `PGPASSWORD` or `~/.pgpass`.
    """
    parsed = make_url(url)
    public = parsed._replace(password=None).difference_update_query(("password", "sslpassword"))
    if public != parsed and os.environ.get("DEDUP_DATABASE_URL") == url:
        return []
    return ["--database", public.render_as_string()]
