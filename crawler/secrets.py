"""Passwords and other secrets of command lines and settings, which are shown and stored nowhere."""

from __future__ import annotations

import logging
import re

HIDDEN = "***"
"""What stands in the place of a value that looks secret."""

_ASSIGNED = re.compile(r"(-[as]|--set=)?(\w+)=(.+)", re.DOTALL)
# The keys and tokens of DEDUP_* are those of documents; what is secret there is in a URL.
_SECRET_NAME = re.compile(
    r"^(?!DEDUP_)(.*_)?(PASS|PASSWORD|SECRET|TOKEN|CREDENTIALS?|(API|ACCESS|SECRET)_KEY)(_|$)", re.IGNORECASE
)
_PASSWORD = re.compile(r"(?<=://)([^/\s:]*):[^/\s]*@|(?<=[?&])(password=)[^&\s]*", re.IGNORECASE)
# As pprint writes a dict, with one item a line; a long value takes several.
_SETTING = re.compile(r"'(\w+)': .+?(?=,\n '|\}\Z)", re.DOTALL)


def without_secret(word: str) -> str:
    """Return a word of a command line with its value hidden, where that looks secret."""
    assigned = _ASSIGNED.fullmatch(word)
    if assigned and _SECRET_NAME.match(assigned[2]):
        return f"{assigned[1] or ''}{assigned[2]}={HIDDEN}"
    return without_password(word)


def without_password(text: str) -> str:
    """Return a text with the passwords of its URLs hidden."""
    return _PASSWORD.sub(lambda found: f"{found[2]}{HIDDEN}" if found[2] else f"{found[1]}:{HIDDEN}@", text)


def hide_secrets_of_settings() -> None:
    """Have secrets hidden in the line of the log in which Scrapy lists the settings of a crawl."""
    logging.getLogger("scrapy.crawler").addFilter(_hide)


def _hide(record: logging.LogRecord) -> bool:
    if isinstance(record.args, dict) and isinstance(settings := record.args.get("settings"), str):
        record.args = {"settings": without_password(_SETTING.sub(_hide_setting, settings))}
    return True


def _hide_setting(found: re.Match[str]) -> str:
    return f"'{found[1]}': '{HIDDEN}'" if _SECRET_NAME.match(found[1]) else found[0]
