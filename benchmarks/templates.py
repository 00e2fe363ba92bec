"""Pages of one template with another payload each, of which none may be dropped, and copies of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.labelled.page_sets import mirrored, session
from benchmarks.labelled.pages import Page, Site, page_html, site_of
from benchmarks.labelled.records import Template, all_templates, page_of, records_of
from benchmarks.labelled.records_data import WorldData
from dedup import Decision, Verdict, deduplicate, similarity
from dedup.errors import InputError
from dedup.rules.setting_values import to_word
from dedup.rules.settings import Caution
from dedup.signature.extraction import text_of

EVERY = "all"
"""Names all templates."""

COPIES = ("print version", "session id", "mirror")
"""What copies there are; pages have them in turn, one each."""

_TEMPLATES = ["en-election", "de-produkt", "zh-tender"]
_HOME = "https://www.example/page/"
_LINK = re.compile(r"href='([^']+)'")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Text:
    """The main text of a page: its key, and what kind of a copy it is of which page; "" if of none."""

    key: str
    text: str
    copy_of: str = ""
    kind: str = ""


@dataclass
class Tally:
    """What became of the pages of a template and of their copies.

    Attributes:
        pages: how many there were.
        dropped: pages that were taken for a copy, and why.
        similar: pages that were kept as similar to another one, by rule.
        copies: how many there were, by kind.
        kept: copies that were kept, and why.
        kept_by: how many, by kind and by the rule for the copy and its original alone.
        misplaced: copies that were dropped, but as those of another page.
    """

    pages: int = 0
    dropped: list[str] = field(default_factory=list)
    similar: Counter[str] = field(default_factory=Counter)
    copies: Counter[str] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)
    kept_by: Counter[str] = field(default_factory=Counter)
    misplaced: list[str] = field(default_factory=list)


def run(*, cache: Path, templates: list[str] | None = None, pages: int = 200, caution: str = "balanced") -> Any:
    """Decide pages of a template, another thing each, one after the other, and then a copy of each of them.

    Args:
        cache: the folder to keep packages in that records are read from.
        templates: which, by language and subject, or `all`; by default en-election, de-produkt and zh-tender, the
            last of them one that no rule was chosen on.
        pages: how many of each template; fewer where there are fewer things to show.
        caution: careful, balanced or eager.

    Returns:
        The figures; it has failed if a page was dropped or a copy kept.
    """
    # Before packages are fetched.
    to_word(Caution)("--caution", caution)
    data = WorldData(cache)
    figures = []
    for template in _chosen(templates or _TEMPLATES):
        originals = list(distinct_pages(template, data, pages))
        tally = decide(list(_texts_of(template, originals)), Caution(caution))
        print("\n".join(_lines(template, tally)), flush=True)
        figures.append(_as_object(template, tally))
    has_failed = any(each["dropped"] or each["kept"] for each in figures)
    return {"caution": caution, "templates": figures, "failed": has_failed}


def distinct_pages(template: Template, data: WorldData, most: int) -> Iterator[Page]:
    """Fill in a template, each time with a record of another name; two of one name may be the same thing."""
    seen: set[str] = set()
    for time in count():
        known = len(seen)
        for record in records_of(template, data, time):
            page = page_of(template, record, len(seen))
            if len(seen) < most and page.title not in seen:
                seen.add(page.title)
                yield page
        if len(seen) in (known, most):
            return


def decide(texts: Sequence[Text], caution: Caution) -> Tally:
    """Decide pages and copies, in their order, and count what became of them."""
    decisions = deduplicate([(each.key, each.text) for each in texts], caution=caution)
    by_key = {each.key: each for each in texts}
    tally = Tally()
    clusters: dict[str, str] = {}
    for text, decision in zip(texts, decisions, strict=True):
        clusters[text.key] = decision.original if decision.verdict.is_duplicate and decision.original else text.key
        if not text.copy_of:
            _count_page(tally, decision)
            continue
        tally.copies[text.kind] += 1
        if not decision.verdict.is_duplicate:
            _count_kept(tally, text, by_key[text.copy_of], decision, caution)
        elif decision.original != clusters[text.copy_of]:
            tally.misplaced.append(_told(decision))
    return tally


def _count_kept(tally: Tally, text: Text, original: Text, decision: Decision, caution: Caution) -> None:
    # A new one names no rule, and a similar one may resemble another page more.
    found = similarity(original.text, text.text, caution=caution)
    rule = f"{found.rule.short}, yet not found" if found.is_duplicate else found.rule.short
    tally.kept_by[f"{text.kind}: {rule}"] += 1
    alone = f"with its original alone: {found.rule.short}, Jaccard {found.similarity.jaccard:.2f}"
    tally.kept.append(f"{_told(decision)}; {alone}")


def _count_page(tally: Tally, decision: Decision) -> None:
    tally.pages += 1
    if decision.verdict.is_duplicate:
        tally.dropped.append(_told(decision))
    elif decision.verdict is Verdict.SIMILAR and decision.rule:
        tally.similar[decision.rule.short] += 1


def _told(decision: Decision) -> str:
    told = f"{decision.key} is {decision.verdict}"
    if decision.original is None or decision.rule is None or decision.similarity is None:
        return told
    relation = "to" if decision.verdict is Verdict.SIMILAR else "of"
    return f"{told} {relation} {decision.original} by {decision.rule.short}, Jaccard {decision.similarity:.2f}"


def _chosen(names: list[str]) -> Iterator[Template]:
    templates = {each.title: each for each in all_templates()}
    if names == [EVERY]:
        yield from templates.values()
        return
    for name in names:
        if name not in templates:
            raise InputError(f"--templates {name}: there are {EVERY}, {', '.join(templates)}")
        yield templates[name]


def _texts_of(template: Template, pages: Sequence[Page]) -> Iterator[Text]:
    home = site_of(template.language, template.title, template.layout)
    for at, page in enumerate(pages):
        others = [*pages[:at], *pages[at + 1 :]]
        yield Text(f"{_HOME}{at}", text_of(page_html(page, home, others, f"{template.title} {at}")))
    for at, page in enumerate(pages):
        others, kind = [*pages[:at], *pages[at + 1 :]], COPIES[at % len(COPIES)]
        html = _copied(page, home, others, kind, f"{template.title} {at} {kind}")
        yield Text(_address(at, kind), text_of(html), f"{_HOME}{at}", kind)


def _address(at: int, kind: str) -> str:
    if kind == "mirror":
        return f"https://mirror.example/page/{at}"
    session = f"{Random(f'session {at}').getrandbits(64):x}"
    return f"{_HOME}{at}?{'print=1' if kind == 'print version' else f'sid={session}'}"


def _copied(page: Page, home: Site, others: Sequence[Page], kind: str, key: str) -> str:
    random = Random(key)
    if kind == "print version":
        return page_html(page, replace(home, layout="print"), others, key)
    if kind == "mirror":
        return page_html(mirrored(page, random, home.language), site_of(home.language, key), others, key)
    html = page_html(session(page, random, home.language), home, others, key)
    return _LINK.sub(rf"href='\1?sid={random.getrandbits(64):x}'", html)


def _lines(template: Template, tally: Tally) -> Iterator[str]:
    similar = ", ".join(f"{rule} {times}" for rule, times in tally.similar.most_common())
    kept = ", ".join(f"{name} {times}" for name, times in tally.kept_by.most_common())
    yield (
        f"{template.title} ({template.half}): {tally.pages} pages, {len(tally.dropped)} dropped, "
        f"{tally.similar.total()} similar{f' ({similar})' if similar else ''}; {tally.copies.total()} copies, "
        f"{len(tally.kept)} kept{f' ({kept})' if kept else ''}, {len(tally.misplaced)} to another page"
    )
    for lines in (tally.dropped, tally.kept, tally.misplaced):
        yield from (f"  {line}" for line in lines[:_NAMED])


def _as_object(template: Template, tally: Tally) -> dict[str, Any]:
    return {
        "template": template.title,
        "half": template.half,
        "pages": tally.pages,
        "dropped": len(tally.dropped),
        "similar": dict(tally.similar),
        "copies": dict(tally.copies),
        "kept": len(tally.kept),
        "kept_by": dict(tally.kept_by),
        "misplaced": len(tally.misplaced),
    }
