"""With what a run was started on the command line, so that it can be gone on with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from w3lib.url import file_uri_to_path

HIDDEN = "***"
"""What stands in the place of a password."""

_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
# The keys and tokens of DEDUP_* are those of documents; what is secret there is in a URL.
_SECRET_NAME = re.compile(r"^(?!DEDUP_).*(PASS|PASSWORD|SECRET|TOKEN|CREDENTIALS?|KEY)(_|$)")
_PASSWORD = re.compile(r"(?<=://)([^/@\s:]*):[^/@\s]*@|(?<=[?&])(password=)[^&\s]*", re.IGNORECASE)


@dataclass(frozen=True)
class RunOptions:
    """What a crawl was told on its command line, but for its passwords.

    Attributes:
        spider: the name of the spider.
        arguments: those of the spider, `-a`.
        settings: by their names; what `-s`, `-o`, `-O`, `-L`, `--logfile` and `--nolog` stand for.
        domains: the hosts that it fetches from.
        files: those that its feeds are written to, as `file_of` names them: whoever goes on with it replaces them.
    """

    spider: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    domains: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """Return those of a crawl."""
        spider, settings = crawler.spider, crawler.settings
        given = {name: settings[name] for name in settings if settings.getpriority(name) == _COMMAND_LINE}
        return cls(
            spider.name if spider else "",
            _without_passwords(dict(getattr(spider, "given", {}))),
            {name: HIDDEN if _SECRET_NAME.search(name) else _without_passwords(given[name]) for name in sorted(given)},
            list(getattr(spider, "allowed_domains", [])),
            [file for uri in settings.getdict("FEEDS") if (file := file_of(str(uri)))],
        )

    @classmethod
    def load(cls, stored: str) -> Self:
        """Return what `dump` has written."""
        return cls(**json.loads(stored))

    def dump(self) -> str:
        """Write them as JSON."""
        return json.dumps(vars(self), default=str)

    @property
    def site(self) -> str:
        """Where the crawl starts, as it was said."""
        return ", ".join(filter(None, map(self.arguments.get, ("url", "urls_file", "sitemap", "warc"))))

    def hidden(self) -> list[str]:
        """Return what has to be given again, since it holds a password: the options of the command line."""
        options = [f"-a {name}={value}" for name, value in self.arguments.items() if HIDDEN in value]
        for name, value in self.settings.items():
            if name == "FEEDS":
                options += [f"-o {uri}" for uri in value if HIDDEN in uri]
            elif HIDDEN in str(value):
                options.append(f"-s {name}={value}")
        return options


def file_of(uri: str) -> str:
    """Return the path of the file on this machine that the address of a feed means; "" where it means another place."""
    scheme = urlsplit(uri).scheme
    return str(Path(file_uri_to_path(uri) if scheme else uri).resolve()) if scheme in ("", "file") else ""


def without_password(text: str) -> str:
    """Return a text with the passwords of its URLs hidden."""
    return _PASSWORD.sub(lambda found: f"{found[2]}{HIDDEN}" if found[2] else f"{found[1]}:{HIDDEN}@", text)


def _without_passwords(value: Any) -> Any:
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, (Mapping, BaseSettings)):
        return {without_password(str(name)): _without_passwords(each) for name, each in value.items()}
    return value
