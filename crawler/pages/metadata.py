"""What a page says of itself: title, author, date, language and description."""

from __future__ import annotations

import logging
from typing import NamedTuple

from lxml.html import HtmlElement

from dedup.signature.normalise import clean

MAX_METADATA_CHARACTERS = 2_000

logger = logging.getLogger(__name__)


class Metadata(NamedTuple):
    """What was found.

    Attributes:
        title: its title.
        author: who wrote it.
        date: when it was published, as YYYY-MM-DD.
        language: its language, such as `en` or `zh-CN`.
        description: what its metadata say it is about.
    """

    title: str | None = None
    author: str | None = None
    date: str | None = None
    language: str | None = None
    description: str | None = None


def find_metadata(tree: HtmlElement, url: str) -> Metadata:
    """Return what a page says of itself, as `trafilatura.metadata.extract_metadata` does.

    That looks for categories, tags and licence, too, which takes a third of the time and which nobody stores.

    Args:
        tree: the page.
        url: its address, which may hold the date.
    """
    # Only the workers need it, see `dedup.signature.extraction`.
    from htmldate import find_date  # noqa: PLC0415
    from trafilatura import metadata  # noqa: PLC0415
    from trafilatura.settings import set_date_params  # noqa: PLC0415

    found = metadata.examine_meta(tree)
    if found.author and " " not in found.author:
        found.author = None
    try:
        found = metadata.extract_meta_json(tree, found)
    except Exception as error:
        logger.debug("%s: its JSON-LD cannot be read: %r", url, error)
    found.title = found.title or metadata.extract_title(tree)
    found.author = found.author or metadata.extract_author(tree)
    address = found.url or metadata.extract_url(tree, url)
    found.date = find_date(tree, **set_date_params(extensive=False), url=address)
    found.clean_and_trim()
    language = tree.get("lang") or tree.get("xml:lang")
    return Metadata(*map(_tidy, (found.title, found.author, found.date, language, found.description)))


def _tidy(value: str | None) -> str | None:
    return clean(value).strip()[:MAX_METADATA_CHARACTERS] or None if value else None
