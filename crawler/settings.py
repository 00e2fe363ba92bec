"""The settings of the crawler; it meets the dedup stage by the settings that the stage has in any project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from scrapy.settings import BaseSettings

from dedup.rules.declared import Settings, setting
from dedup.rules.setting_values import from_json, parsed, to_bool, word

Network = IPv4Network | IPv6Network

_MOST_PARTS = 1_000
_PART = re.compile(r"([1-9][0-9]*)/([1-9][0-9]*)", re.ASCII)


class JavaScript(StrEnum):
    """Which pages of a host are rendered."""

    OFF = "off"
    WHEN_EMPTY = "when-empty"
    ALWAYS = "always"


@dataclass(frozen=True)
class JavaScriptByHost:
    """Which pages are rendered.

    Attributes:
        by_host: those of each host; "*" stands for the others.
    """

    by_host: Mapping[str, JavaScript]

    def __str__(self) -> str:
        return ", ".join(mode if host == "*" else f"{host}: {mode}" for host, mode in self.by_host.items())

    @classmethod
    def of(cls, value: Any) -> JavaScriptByHost:
        """Read the name of a `JavaScript`, for all hosts, or names by host.

        Raises:
            ValueError: it is something else; the message is what is expected.
        """
        if isinstance(value, JavaScriptByHost):
            return value
        given = from_json(value)
        by_host = given if isinstance(given, Mapping) else {"*": given}
        try:
            return cls({str(host).lower(): JavaScript(str(mode)) for host, mode in by_host.items()})
        except ValueError:
            raise ValueError(f"{', '.join(JavaScript)}, or one of these by host") from None

    @property
    def is_used(self) -> bool:
        """Whether any page is rendered."""
        return any(mode is not JavaScript.OFF for mode in self.by_host.values())

    def of_host(self, host: str) -> JavaScript:
        """Return which pages of a host are rendered."""
        return self.by_host.get(host.lower(), self.by_host.get("*", JavaScript.OFF))


class Part(NamedTuple):
    """The part of a run that a process crawls: the hosts whose digest modulo `of` is `number`, which begins at 0."""

    number: int = 0
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number + 1}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Part:
        """Read what `str` writes, such as `2/4`.

        Raises:
            ValueError: it is none; the message is what is expected.
        """
        found = _PART.fullmatch(text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]) <= _MOST_PARTS:
            raise ValueError("the number of this process and of all, such as 2/4")
        return cls(int(found[1]) - 1, int(found[2]))


class StoredText(StrEnum):
    """What is stored of the text of a page that is kept; it is compared as plain text."""

    PLAIN = "plain"
    MARKDOWN = "markdown"


class Gone(StrEnum):
    """What becomes of a stored page whose address answers 404 or 410.

    KEEP changes nothing. MARK notes in the page's row since when it is gone, DELETE takes the row
    away; with both the page leaves the index, and its duplicates are decided again.
    """

    KEEP = "keep"
    MARK = "mark"
    DELETE = "delete"


def _networks(value: Any) -> tuple[Network, ...]:
    given = value.split(",") if isinstance(value, str) else value
    try:
        return tuple(ip_network(str(part).strip(), strict=False) for part in given if str(part).strip())
    except (ValueError, TypeError) as error:
        raise ValueError(f"networks like 10.0.0.0/8, with commas: {error}") from None


def _metrics(value: Any) -> str:
    if value and Path(str(value)).suffix != ".prom":
        raise ValueError("a file name that ends with .prom")
    return str(value)


@dataclass(frozen=True)
class CrawlerSettings(Settings):
    """What the crawler is told, each as `CRAWLER_` and its name in capitals."""

    prefix: ClassVar = "CRAWLER_"

    contact: str = setting("no contact given", str, "your address, for the user agent; an environment variable.")
    allowed_networks: tuple[Network, ...] | None = setting(
        None, _networks, "internal networks that may be contacted; default: those of the start URLs; empty: none."
    )
    javascript: JavaScriptByHost = setting(
        JavaScriptByHost({"*": JavaScript.OFF}),
        JavaScriptByHost.of,
        "which pages a browser renders: `off`, `when-empty`, `always`, or these by host.",
    )
    part: Part = setting(
        Part(),
        parsed(Part),
        "which part of a run this process crawls, such as `2/4`; read by `settings/cluster.py` from the environment.",
    )
    pdf: bool = setting(
        False, to_bool, "whether PDFs are fetched and their text is taken as that of pages is; needs `pypdfium2`."
    )
    text: StoredText = setting(
        StoredText.PLAIN,
        word(StoredText),
        "text that is stored: `plain`, or also [`markdown`](start.md#what-is-stored).",
    )
    learn_addresses: bool = setting(
        True, to_bool, "whether addresses that [lead to copies by a rule](report.md#addresses-of-copies) are skipped."
    )
    address_rules: str = setting("", str, "a file of `duplicate-url-discarder` rules, which need fewer pairs.")
    metrics: str = setting("", _metrics, "a file, `*.prom`, for Scrapy's stats: [Monitoring](operating.md#monitoring).")
    gone: Gone = setting(Gone.MARK, word(Gone), "stored pages that now answer 404 or 410: `keep`, `mark` or `delete`.")


def add_markdown(settings: BaseSettings) -> None:
    """Have feeds with Markdown; a project's own list of fields stays as it is."""
    names = settings.getlist("FEED_EXPORT_FIELDS")
    if "markdown" not in names:
        settings.set("FEED_EXPORT_FIELDS", [*names, "markdown"], priority="addon")
