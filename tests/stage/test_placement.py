"""The stage runs before what stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImagesPipeline
from scrapy.settings import Settings

from dedup.errors import SettingsError
from dedup.stage.pipelines import NearDuplicatePipeline
from dedup.stage.project import neighbours, order_for
from tests.crawling import Outcome
from tests.passing import url


class Clean:
    """Cleans items."""


class Store:
    """Stores items."""


class Export:
    """Stores items elsewhere."""


class Documents(FilesPipeline):
    """Fetches files."""


def order(pipelines: dict[Any, Any], **settings: Any) -> float:
    return order_for(Settings({"ITEM_PIPELINES": pipelines, **settings}))


@pytest.mark.parametrize(
    ("pipelines", "below"),
    [
        ({Store: 300}, 300),
        ({Store: 1}, 1),
        ({Store: 0}, 0),
        ({Clean: 100, Store: 300}, 100),
        ({Store: -5, Clean: 3}, -5),
    ],
)
def test_stage_is_before_all_of_the_project(pipelines: dict[Any, Any], below: int) -> None:
    assert order(pipelines) < below


def test_alone_it_is_at_300() -> None:
    assert order({}) == 300
    assert order({Store: None}) == 300


def test_media_pipelines_that_come_first_stay_first() -> None:
    assert 1 < order({Documents: 1, ImagesPipeline: 2, Store: 300}) < 300
    assert order({Documents: 1, ImagesPipeline: 2, Store: 300}) > 2
    assert order({Documents: 1}) > 1
    assert order({Store: 100, ImagesPipeline: 200}) < 100


def test_items_that_are_nothing_but_files_are_found_behind_any_pipeline() -> None:
    assert 200 < order({Clean: 100, Documents: 200, Store: 300}) < 300
    assert order({Clean: 100, Documents: 200}) > 200
    assert 1 < order({Documents: 1, Clean: 100, Store: 300}) < 100
    assert order({Clean: 100, Documents: 200, Store: 300}, DEDUP_AFTER=[]) < 100


class Fetched(Documents):
    """Says of each second item that its file is that of the item before."""

    async def process_item(self, item: Any) -> Any:
        return item | {"files": [{"checksum": f"checksum {int(item['url'][-1]) // 2}"}]}


class Checked:
    """Passes items on."""

    def process_item(self, item: Any) -> Any:
        return item


@pytest.mark.slow
def test_files_are_compared_behind_a_pipeline_of_whatever_name_and_number(
    pass_on: Callable[..., Outcome], tmp_path: Path
) -> None:
    items = [{"url": url(number)} for number in range(4)]
    settings = {"ITEM_PIPELINES": {Checked: 100, Fetched: 200}, "FILES_STORE": str(tmp_path / "files")}
    outcome = pass_on(items, settings)
    assert (len(outcome.items), outcome.kinds_of_drops) == (2, {"ExactDuplicate": 2})


@pytest.mark.parametrize(
    "after", ["Clean", ["Clean"], Clean, [Clean], "tests.stage.test_placement.Clean", "Clean,Clean"]
)
def test_it_is_after_pipelines_that_are_named(after: Any) -> None:
    assert 100 < order({Clean: 100, Store: 101}, DEDUP_AFTER=after) < 101
    assert order({Store: 50, Clean: 100}, DEDUP_AFTER=after) > 100
    assert 100 < order({Store: 50, Clean: 100, Export: 100.5}, DEDUP_AFTER=after) < 100.5


@pytest.mark.parametrize("number", [350, "350", 350.5, -1])
def test_a_number_is_taken_as_it_is(number: Any) -> None:
    assert order({Store: 300}, DEDUP_AFTER=number) == float(number)


def test_nobody_named_is_before_media_pipelines_too() -> None:
    assert order({Documents: 1, Store: 300}, DEDUP_AFTER=[]) == 299


@pytest.mark.parametrize("wrong", ["Cleen", ["Clean", "Stor"], object(), "nan"])
def test_a_pipeline_that_there_is_not_is_refused(wrong: Any) -> None:
    with pytest.raises(SettingsError, match=r"^DEDUP_AFTER"):
        order({Clean: 100, Store: 300}, DEDUP_AFTER=wrong)


def test_line_says_what_comes_before_and_after() -> None:
    def line(**orders: int) -> str:
        pipelines = {globals()[name]: number for name, number in orders.items()}
        return neighbours(Settings({"ITEM_PIPELINES": {NearDuplicatePipeline: 50, **pipelines}}), NearDuplicatePipeline)

    assert line() == "duplicates are dropped before the feeds"
    assert line(Store=100) == "duplicates are dropped before Store, the feeds"
    assert (
        line(Clean=10, Export=300, Store=100) == "duplicates are dropped before Store, Export, the feeds; after Clean"
    )


def test_line_does_not_speak_of_dropping_where_nothing_is_dropped() -> None:
    settings = Settings({"ITEM_PIPELINES": {NearDuplicatePipeline: 50}, "DEDUP_MARK_ONLY": True})
    assert neighbours(settings, NearDuplicatePipeline) == "duplicates are marked, not dropped, before the feeds"


def test_pipelines_are_named_in_json_too_as_on_a_command_line() -> None:
    assert 100 < order({Clean: 100, Store: 101}, DEDUP_AFTER='["Clean"]') < 101
    with pytest.raises(SettingsError, match=r"DEDUP_AFTER = '\[Clean\]': expected names, or a list"):
        order({Clean: 100}, DEDUP_AFTER="[Clean]")
