"""Fields of items, objects and rows: under which names text, HTML and key are found, and what their values hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import lru_cache, partial
from typing import Any

from dedup.signature.markup import without_markup


def names_in(names: str) -> tuple[str, ...]:
    """Return names that stand in a text with spaces between them."""
    return tuple(names.split())


TITLE_FIELDS = names_in("title headline article_title name heading product_name product")
SUMMARY_FIELDS = names_in("description content_intro summary abstract article motto")
# `article` is a number in shops.
TEXT_FIELDS = (
    *names_in(
        "text content body article_text article_body articleBody articleText maintext main_text full_text plain_text "
        "body_text content_text page_text raw_text raw_content clean_text page_content markdown paragraphs story "
        "transcript"
    ),
    *SUMMARY_FIELDS,
)
# In a table these are one column of several that belong together.
ITEM_TEXT_FIELDS = (
    *(name for name in TEXT_FIELDS if name not in SUMMARY_FIELDS),
    *names_in(
        "article_content articleContent contents fulltext post_text post_content cleaned_text overview_markdown "
        "instructions job_description review_text review_content review comment_text comment message question answer "
        "inhalt contenido contenu texto 正文 内容 本文"
    ),
    *SUMMARY_FIELDS,
)
"""Names of the text of an item: those of any document, and what items alone have."""

HTML_FIELDS = names_in(
    "html raw_html body_html content_html article_html articleBodyHtml page_html html_content spider_response response"
)
KEY_FIELDS = names_in(
    "url link canonical_url page_url source_url article_url news_url product_url permalink href guid id id_ _id "
    "item_id article_id sku key"
)

_WHOLE_PAGE = re.compile(
    r"(?:\ufeff|ï»¿)?\s*+(<\?xml[^>]*+>\s*+)?(<!--.*?-->\s*+)*+<(!doctype\s+html|html|head)\b",
    re.IGNORECASE | re.DOTALL,
)
# What programs write where a text is missing, or will be once a later pipeline has filled it in.
_PLACEHOLDERS = frozenset(names_in("null none nil nan na undefined unknown empty tbd todo loading placeholder 无 暂无"))
_LONGEST_PLACEHOLDER = 20
_HEAD = 10_000
_NO_LETTER = re.compile(r"[\W_]+")

AsFields = Callable[[Any], Mapping[Any, Any] | None]
"""Returns the fields of a value; None of a value that has none."""


def _as_mapping(value: Any) -> Mapping[Any, Any] | None:
    return value if isinstance(value, Mapping) else None


Getter = Callable[[Mapping[Any, Any]], Any]
"""Returns the value of a field; None of what does not have it, or has never set it."""


@lru_cache(maxsize=256)
def _actual_names(names: tuple[Any, ...]) -> dict[str, Any]:
    # The first of those that differ in their case alone, but for the name itself.
    return {str(name).lower(): name for name in reversed(names)} | {name: name for name in names}


def actual_name(fields: Iterable[Any], name: str) -> Any:
    """Return a field's name as it is written there, in upper or lower case; None if there is none."""
    actual = _actual_names(tuple(fields))
    return actual.get(name) or actual.get(name.lower())


@lru_cache(maxsize=1_024)
def getter_of(names: tuple[Any, ...], path: str, as_fields: AsFields = _as_mapping) -> Getter | None:
    """Return the getter of a field, for all that has fields of these names; None where none of them is that one.

    Args:
        names: the names of the fields.
        path: the field's name, in any case, or with dots `article.body`: the field `body` of what is in the field
            `article`, or of each of the elements of a list there. A field that has this very name wins.
        as_fields: returns the fields of a value.
    """
    name, (first, dot, rest) = actual_name(names, path), path.partition(".")
    outer = actual_name(names, first) if dot else None
    if outer is None:
        return None if name is None else partial(_value_of, name)

    def get(fields: Mapping[Any, Any]) -> Any:
        value = None if name is None else _value_of(name, fields)
        return inside(_value_of(outer, fields), rest, as_fields) if value is None else value

    return get


def _value_of(name: Any, fields: Mapping[Any, Any]) -> Any:
    try:
        return fields[name]
    except (KeyError, AttributeError):  # the latter of dataclasses and attrs, whose fields are there from the start
        return None


def value_at(fields: Mapping[Any, Any], path: str, as_fields: AsFields = _as_mapping) -> Any:
    """Return the value of a field, see `getter_of`; None where there is none."""
    get = getter_of(tuple(fields), path, as_fields)
    return None if get is None else get(fields)


def inside(value: Any, path: str, as_fields: AsFields = _as_mapping) -> Any:
    """Return the value at a path in a value, see `value_at`; of a list the list of those of its elements."""
    if isinstance(value, (list, tuple)):
        found = [each for each in (inside(element, path, as_fields) for element in value) if each is not None]
        return found or None
    fields = as_fields(value)
    return None if fields is None else value_at(fields, path, as_fields)


def joined(value: Any) -> Any:
    """Return the strings of a list as one, as item loaders make lists; anything else as it is."""
    is_list = isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value)
    return "\n".join(value) if is_list else value


def is_whole_page(value: bytes | str) -> bool:
    """Return whether a value is HTML from its beginning on, and no piece of markup."""
    head = value[:_HEAD]
    return _WHOLE_PAGE.match(head.decode("latin-1") if isinstance(head, bytes) else head) is not None


def text_or_page(value: Any) -> tuple[str, bytes | str]:
    """Return a text without markup, or the page that a text is to be taken from; two empty ones: neither."""
    value = joined(value)
    if not isinstance(value, (bytes, str)) or not value.strip() or is_placeholder(value):
        return "", ""
    if isinstance(value, bytes) or is_whole_page(value):
        return "", value
    text = without_markup(value)
    return (text if text is value else text.strip()), ""


def is_placeholder(value: bytes | str) -> bool:
    """Return whether a value is written in place of a missing text: `NULL`, `N/A`, `-`, `loading...`."""
    if len(value) > _LONGEST_PLACEHOLDER or isinstance(value, bytes):
        return False
    letters = _NO_LETTER.sub("", value).casefold()
    return not letters or letters in _PLACEHOLDERS


def with_title(title: str, text: str) -> str:
    """Return a text with its title above it, unless it begins with that."""
    is_inside = text.lstrip().casefold().startswith(title.strip().casefold())
    return text if is_inside else f"{title}\n{text}"


def unwrapped(value: Any) -> Any:
    """Return the value in a list that item loaders have made, or in an object such as {"$oid": "..."} of MongoDB."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, Mapping) and len(value) == 1 and str(next(iter(value))).startswith("$"):
        return unwrapped(next(iter(value.values())))
    return value


def as_key(value: Any) -> str:
    """Return a key as a string; "" for what cannot be one."""
    if isinstance(value, str):
        return "" if value.isspace() else value
    value = unwrapped(value)
    if isinstance(value, float):  # as tables have whole numbers of which some are missing
        value = int(value) if value.is_integer() else value if math.isfinite(value) else None
    if isinstance(value, bytes):
        value = value.decode("ascii") if value.isascii() else value.hex()
    if value is None or isinstance(value, (bool, Mapping, list, tuple, set, frozenset, date)):
        return ""
    key = str(value)
    return "" if key.isspace() else key
