"""Sites with copies at many addresses, each crawled with and without learning which addresses bring copies."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Self

from scrapy.settings import BaseSettings

from benchmarks.address_sites import KINDS, Site, truth_of
from benchmarks.processes import PROJECT, output_of, scratch_folder
from benchmarks.site import answering, crawl_command
from dedup.addresses.address import Address, parse, scope_of
from dedup.addresses.evidence import MOST_SEEN, Evidence
from dedup.addresses.learning import AddressRules
from dedup.addresses.rule import AddressRule
from dedup.store.database import open_existing_database
from dedup.store.runs import read_last_verdicts

# Slow enough for verdicts to come before much more is fetched, as they do at a page a second.
_SETTINGS = {"DOWNLOAD_DELAY": "0.05", "AUTOTHROTTLE_START_DELAY": "0", "CLOSESPIDER_TIMEOUT": "180"}


def run(project: Path = PROJECT, kinds: str = "", wrong: float = 0.0) -> dict[str, Any]:
    """Crawl each site with the settings of the project, without learning and with it.

    Args:
        project: a checkout of this project, such as an earlier one.
        kinds: words of which the names of kinds have to have one, with commas; empty for all.
        wrong: the share of pages, as .02, of which the crawl learns from the opposite of their verdict.

    Returns:
        The figures by kind and over all.

    Raises:
        ValueError: there is no such kind, or a crawl has failed.
    """
    figures: dict[str, Any] = {}
    wanted = [word for word in kinds.split(",") if word]
    print(f"{'':31} pages         fetches          copies          stored        lost  rules")
    for name, kind in KINDS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        truth = truth_of(kind())
        contents = frozenset(truth.values()) - {""}
        without = crawl(project, kind(), {"CRAWLER_LEARN_ADDRESSES": "False"})
        learnt = crawl(project, kind(), misleading(wrong) if wrong else {})
        figures[name] = {"addresses": len(truth), "pages": len(contents), "without": without, "with": learnt}
        _print(name, figures[name])
    if not figures:
        raise ValueError(f"--kinds {kinds}: expected a word of one of {', '.join(KINDS)}")
    found = list(figures.values())
    total: dict[str, Any] = {"pages": sum(each["pages"] for each in found)}
    for how in ("without", "with"):
        total[how] = {key: sum(each[how][key] for each in found) for key in ("fetches", "copies", "stored", "lost")}
        total[how] |= {key: [rule for each in found for rule in each[how][key]] for key in ("rules", "false")}
    _print("all", total)
    for key, told in (("copies", "of the fetches of copies"), ("fetches", "of all fetches")):
        total[f"saved_{key}"] = 1 - total["with"][key] / max(1, total["without"][key])
        print(f"{total[f'saved_{key}']:.1%} {told} saved")
    print(f"{total['with']['fetches']:,} seconds at a page a second, before {total['without']['fetches']:,}")
    figures["total"] = total
    return figures


class Misleading:
    """Add-on and extension that lets a crawl learn from the opposite of some verdicts."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings["EXTENSIONS"][type(self)] = 1

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        rules, wrong = crawler.spider.address_rules, crawler.settings.getfloat("WRONG")
        note_kept, note_copy = rules.note_kept, rules.note_copy
        kept: list[str] = []

        def mislead_of_kept(url: str) -> None:
            chance = Random(url)
            if kept and chance.random() < wrong:
                note_copy(url, chance.choice(kept))
            else:
                kept.append(url)
                note_kept(url)

        def mislead_of_copy(url: str, original: str) -> None:
            if Random(url).random() < wrong:
                note_kept(url)
            else:
                note_copy(url, original)

        rules.note_kept, rules.note_copy = mislead_of_kept, mislead_of_copy
        return cls()


def misleading(wrong: float) -> dict[str, str]:
    """Return the settings by which a crawl learns from the opposite of so many verdicts."""
    addons = {"dedup.DedupAddon": 500, f"{Misleading.__module__}.{Misleading.__name__}": 600}
    return {"ADDONS": json.dumps(addons), "WRONG": str(wrong)}


def crawl(project: Path, site: Site, how: Mapping[str, str]) -> dict[str, Any]:
    """Crawl a site.

    Args:
        project: a checkout of this project.
        site: which.
        how: settings besides those that all crawls have.

    Returns:
        How many addresses were fetched, how many of these for copies, how many pages were stored; which were lost, and
        which rules were learnt, those of them that are false once more.
    """
    truth = truth_of(type(site)())
    contents = frozenset(truth.values()) - {""}
    with answering(site.answer, "127.0.0.1") as port, scratch_folder() as folder:
        database = folder / "crawl.db"
        settings = {**_SETTINGS, **how, "LOG_FILE": str(folder / "log")}
        command = crawl_command(f"http://{site.host}/", f"sqlite:///{database}", settings, *site.arguments)
        # A proxy is the sites: nobody looks up their names.
        proxy = {"http_proxy": f"http://127.0.0.1:{port}", "no_proxy": "", "NO_PROXY": ""}
        environment = {"PYTHONPATH": str(project), **proxy}
        output_of(command, project, environment)
        with closing(sqlite3.connect(database)) as connection:
            stored = connection.execute("SELECT url FROM pages WHERE gone IS NULL").fetchall()
        rules, false = _rules_of(database, truth)
    fetched = [page.content for address in site.log if (page := site.at(address)) and page.content]
    lost = contents - {page.content for (address,) in stored if (page := site.at(address))}
    return {
        "fetches": len(site.log),
        "copies": len(fetched) - len(set(fetched)),
        "stored": len(stored),
        "lost": len(lost),
        "lost_pages": sorted(lost),
        "rules": rules,
        "false": false,
    }


def _rules_of(database: Path, truth: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the rules that a crawl has learnt, in words, and those of them that are false where they act."""
    known = AddressRules()
    with closing(open_existing_database(f"sqlite:///{database}")) as opened:
        known.recall(read_last_verdicts(opened, MOST_SEEN))
    told = {f"{rule} in {', '.join(evidence.scopes())}": (rule, evidence) for _, rule, evidence in known.acting()}
    return list(told), [words for words, found in told.items() if not is_true(*found, truth)]


def is_true(rule: AddressRule, evidence: Evidence, truth: Mapping[str, str]) -> bool:
    """Say whether addresses of which a rule makes one form have one content."""
    contents: dict[Address, str] = {}
    for url, content in truth.items():
        address = parse(url)
        form = address and rule.form_of(address)
        if content and form and evidence.acts_in(scope_of(form)) and contents.setdefault(form, content) != content:
            return False
    return True


def _print(name: str, found: dict[str, Any]) -> None:
    columns = (("fetches", 5), ("copies", 5), ("stored", 5), ("lost", 3))
    changes = "  ".join(f"{found['without'][key]:>{n},} -> {found['with'][key]:>{n},}" for key, n in columns)
    print(f"{name:31} {found['pages']:>5,}  {changes}  {len(found['with']['rules']):>5}", flush=True)
    if name != "all":
        print("\n".join(f"  {'FALSE ' * (rule in found['with']['false'])}{rule}" for rule in found["with"]["rules"]))
