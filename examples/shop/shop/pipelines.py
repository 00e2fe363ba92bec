import json
from pathlib import Path

from itemadapter import ItemAdapter


class JsonLinesPipeline:
    """Appends products to Product.jsonl and reviews to Review.jsonl."""

    def open_spider(self):
        self.files = {}

    def close_spider(self):
        for file in self.files.values():
            file.close()

    def process_item(self, item):
        kind = type(item).__name__
        if kind not in self.files:
            self.files[kind] = Path(f"{kind}.jsonl").open("a", encoding="utf-8")
        self.files[kind].write(json.dumps(ItemAdapter(item).asdict(), ensure_ascii=False) + "\n")
        return item
