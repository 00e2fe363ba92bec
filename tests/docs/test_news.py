"""The pipeline of docs/news.md: in a project each update has the words of the text before, and those of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import scrapy

from tests.crawling import crawl_here
from tests.docs.pages import ROOT, blocks_of
from tests.texts import document

STORY, CHINESE = (
    document(80, "story"),
    "警方在仓库中发现了41辆被盗自行车，大部分来自火车站后面的街区，一名男子接受讯问后获释。",
)


class Papers(scrapy.Spider):
    name = "papers"
    texts: dict[str, str]

    async def start(self) -> AsyncIterator[Any]:
        for path, text in self.texts.items():
            yield {"url": f"https://paper.example/{path}", "text": text}


@pytest.mark.slow
def test_updates_of_a_project_have_old_and_new_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings, pipeline = (block for block in blocks_of(ROOT / "docs" / "news.md") if block.language == "python")
    names: dict[str, Any] = {"__name__": "documentation"}
    for block in (settings, pipeline):
        exec(block.text, names)
    project = {name: value for name, value in names.items() if name.isupper()}
    project |= {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'a.db'}", "ITEM_PIPELINES": {names["Versions"]: 300}}
    before = {"story": f"{STORY} 41 bicycles were found.", "chinese": CHINESE, "same": document(80, "same")}
    now = before | {"story": f"{STORY} 14 bicycles were found, says the mayor.", "chinese": CHINESE.replace("41", "14")}
    runs = [crawl_here(Papers, project, texts=texts) for texts in (before, now | {"copy": now["story"]})]
    assert [item for item in runs[0].items if "changes" in item] == []
    changes = {item["url"].rpartition("/")[2]: item["changes"] for item in runs[1].items}
    assert changes == {
        "story": [(["41"], ["14"]), (["found."], ["found,", "says", "the", "mayor."])],
        "chinese": [(["41"], ["14"])],
    }
