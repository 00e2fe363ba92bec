"""As in news-please, the text is not there before the first pipeline has taken it from the response."""

import json
from pathlib import Path

from itemadapter import ItemAdapter


class ArticleExtractor:
    def process_item(self, item):
        response = item["spider_response"]
        item["article_title"] = response.css("title::text").get()
        item["article_text"] = "\n".join(response.css("article p::text").getall())
        return item


def file_of(item, suffix):
    return Path("data", item["url"].rpartition("/")[2]).with_suffix(suffix)


class HtmlFileStorage:
    def open_spider(self):
        Path("data").mkdir(exist_ok=True)

    def process_item(self, item):
        file_of(item, ".html").write_bytes(item["spider_response"].body)
        return item


class JsonFileStorage:
    def process_item(self, item):
        fields = ItemAdapter(item).asdict()
        del fields["spider_response"], fields["html_title"]
        file_of(item, ".json").write_text(json.dumps(fields), encoding="utf-8")
        return item
