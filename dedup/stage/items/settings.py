"""The settings of the items of a Scrapy project, read once into a typed object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

from dedup.errors import SettingsError
from dedup.rules.setting_values import to_bool, to_int, to_word
from dedup.stage.items.fields import FieldRule

TEXT_FIELDS = (
    "text",
    "content",
    "body",
    "article_text",
    "article_body",
    "articleBody",
    "articleText",
    "maintext",
    "main_text",
    "full_text",
    "plain_text",
    "body_text",
    "content_text",
    "page_text",
    "description",
    "content_intro",
    "summary",
    "abstract",
    # In shops it is a number.
    "article",
    "motto",
)
TITLE_FIELDS = ("title", "headline", "article_title", "name", "heading", "product_name", "product")
# What tells the variants of a thing from each other, however long the description is that they share.
VARIANT_FIELDS = ("price", "sale_price", "variant", "color", "colour")
# This does, too, where one of those is there: alone it may be the length of a page.
SIZE_FIELDS = ("size",)
# What tells two things of one short text from each other; no date and no count, which change with every visit.
DETAIL_FIELDS = (
    *VARIANT_FIELDS,
    *SIZE_FIELDS,
    *("brand", "model", "seller", "rating", "stars"),
    *("author", "authors", "byline", "user", "username", "user_name", "nick", "nickname", "reviewer"),
    *TITLE_FIELDS,
)
HTML_FIELDS = (
    "html",
    "raw_html",
    "body_html",
    "content_html",
    "article_html",
    "articleBodyHtml",
    "page_html",
    "html_content",
    "spider_response",
    "response",
)
KEY_FIELDS = (
    "url",
    "link",
    "canonical_url",
    "page_url",
    "source_url",
    "article_url",
    "news_url",
    "product_url",
    "permalink",
    "href",
    "guid",
    "id",
    "id_",
    "_id",
    "item_id",
    "article_id",
    "sku",
)
# Not `images`: things without a picture of their own all have the same one.
FILE_FIELDS = ("files",)


class SameKey(StrEnum):
    """What another text under a key is that the same process has decided before, in the same run."""

    SEPARATE = "separate"
    UPDATE = "update"


class ShortTexts(StrEnum):
    """What becomes of texts that are too short for anything but an exact comparison."""

    SIMILAR = "similar"
    DROP = "drop"
    PASS = "pass"  # noqa: S105 -- no password


class OnError(StrEnum):
    """What becomes of items when the database fails for good."""

    STOP = "stop"
    PASS = "pass"  # noqa: S105 -- no password


@dataclass(frozen=True)
class ItemSettings:
    """What is looked at in items, and what becomes of them.

    Each stands in a Scrapy project as `DEDUP_` and its name in capitals. The names of fields are
    `dedup.stage.items.fields.FieldRule`: several, a function, or either by the item's class.

    Attributes:
        text_field: the text; markup in it is left out.
        title_field: the title, which is compared together with the text.
        html_field: HTML, or a response, from which the text is taken where there is none.
        key_field: the key: a URL, or an id, which counts for items of the same class and spider.
        file_field: files of a media pipeline, whose checksums are compared where there is no text.
        verdict_field: receives the verdict; empty: no field does.
        mark_field: receives verdict, original, distance and similarity of what is marked or `similar`; empty: only
            `response.meta["dedup"]` does.
        replaces_field: receives the URLs of the copies whose place the item takes; empty: no field does.
        same_key: another text under a key in one run: `separate`, it is another document with a key of its own;
            `update`, the document has changed.
        short_texts: what becomes of equal texts under DEDUP_MIN_TOKENS: `similar`, they pass; `drop`, they are
            copies; `pass`, they are not examined.
        drop_unchanged: whether an item whose key had the same text before is dropped.
        follow_duplicates: whether the links of a duplicate are followed.
        on_error: when the database fails for good: `stop` the crawl, or `pass` items undecided.
        workers: worker processes for extraction; 0: threads.
    """

    # Fields of items that a crawler has made for the stage: a signature that was made already, the digest of the page's
    # bytes, the address that the page names as its own, whether a redirect led to the URL.
    signature_field: ClassVar = "signature"
    body_digest_field: ClassVar = "body_digest"
    canonical_field: ClassVar = "canonical"
    redirected_field: ClassVar = "redirected"

    text_field: FieldRule = field(default_factory=partial(FieldRule, TEXT_FIELDS))
    title_field: FieldRule = field(default_factory=partial(FieldRule, TITLE_FIELDS))
    html_field: FieldRule = field(default_factory=partial(FieldRule, HTML_FIELDS))
    key_field: FieldRule = field(default_factory=partial(FieldRule, KEY_FIELDS))
    file_field: FieldRule = field(default_factory=partial(FieldRule, FILE_FIELDS))
    verdict_field: str = ""
    mark_field: str = ""
    replaces_field: str = ""
    same_key: SameKey = SameKey.SEPARATE
    short_texts: ShortTexts = ShortTexts.SIMILAR
    drop_unchanged: bool = False
    follow_duplicates: bool = True
    on_error: OnError = OnError.STOP
    workers: int = 1

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ItemSettings:
        """Read the settings; `get` gives the value of one by its full name, None where it is not set.

        Raises:
            SettingsError: a value cannot be used.
        """
        defaults = cls()
        values: dict[str, Any] = {}
        for each in fields(cls):
            name = f"DEDUP_{each.name.upper()}"
            value = get(name)
            if value is None:
                continue
            default = getattr(defaults, each.name)
            if isinstance(default, FieldRule):
                values[each.name] = FieldRule.parse(name, value, default.names)
            else:
                values[each.name] = _CONVERTERS[str(each.type)](name, value)
        settings = cls(**values)
        if settings.workers < 0:
            raise SettingsError(f"DEDUP_WORKERS = {settings.workers}: expected at least 0")
        return settings


_CONVERTERS: dict[str, Callable[[str, Any], Any]] = {
    "bool": to_bool,
    "int": to_int,
    "str": lambda name, value: str(value),
    "SameKey": to_word(SameKey),
    "ShortTexts": to_word(ShortTexts),
    "OnError": to_word(OnError),
}
