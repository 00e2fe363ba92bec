"""Projects of real shapes with the one line: copies are dropped, nothing else, and the report says what is stored."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.projects.running import Trials, try_out
from tests.projects.shapes import shapes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=shapes(), ids=lambda project: project.name)
def trials(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return try_out(request.param, tmp_path_factory.mktemp(request.param.name))


def test_project_without_the_stage_stores_everything(trials: Trials) -> None:
    planted = Counter(name for copies in trials.project.copies for name in copies)
    assert planted < trials.off.names
    assert not (trials.off.folder / ".scrapy" / "dedup").exists()
    assert not [name for name in trials.off.crawl.stats if name.startswith("dedup/")]


def test_every_copy_is_dropped_and_nothing_else(trials: Trials) -> None:
    expected, stored = trials.off.names, trials.on.names
    for copies in trials.project.copies:
        assert sum(stored[name] for name in set(copies)) == 1, copies
        for name in copies:
            del expected[name], stored[name]
    assert stored == expected


def test_report_and_stats_say_what_is_stored(trials: Trials) -> None:
    off, on, key = trials.off, trials.on, trials.project.key
    totals = {verdict: of["documents"] for verdict, of in on.report["totals"].items()}
    kept, dropped = on.keys.total(), off.keys.total() - on.keys.total()
    assert totals["new"] == on.crawl.stats["dedup/new"]
    assert totals["similar"] == on.crawl.stats.get("dedup/similar", 0) == len(on.report["similar"])
    assert totals["new"] + totals["similar"] == kept
    assert totals["exact duplicate"] + totals["near duplicate"] == on.crawl.stats["item_dropped_count"] == dropped
    assert totals["updated"] == totals["unchanged"] == 0
    assert on.crawl.stats["item_scraped_count"] == len(on.stored)
    assert Counter(key(each["dropped"]) for each in on.report["duplicates"]) == off.keys - on.keys
    assert {key(each["original"]) for each in on.report["duplicates"]} <= set(on.keys)


def test_log_says_where_the_stage_stands_and_what_it_looks_at(trials: Trials) -> None:
    told = trials.on.told("INFO")
    assert trials.project.place in told
    assert {message for message in told if message.startswith("text: ")} == trials.project.found


def test_log_warns_of_nothing_that_is_right(trials: Trials) -> None:
    warnings = trials.on.told("WARNING", "ERROR", "CRITICAL")
    assert len(warnings) == len(trials.project.warnings), warnings
    assert all(part in warning for part, warning in zip(trials.project.warnings, warnings, strict=True))
    # Nor has the project itself anything to complain of that it had not without the stage.
    assert trials.on.crawl.stats.get("log_count/ERROR") is None


def test_log_names_the_line_that_is_needed_more(trials: Trials) -> None:
    told = trials.alone.told("INFO", "WARNING")
    assert all(any(part in message for message in told) for part in trials.project.named), told
    settled = trials.on.told("INFO", "WARNING")
    assert not any(part in message for part in trials.project.named for message in settled)
