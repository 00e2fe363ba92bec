import csv
from pathlib import Path

from itemadapter import ItemAdapter


class CsvPipeline:
    def open_spider(self):
        self.file = Path("articles.csv").open("w", encoding="utf-8", newline="")
        self.writer = csv.writer(self.file)

    def close_spider(self):
        self.file.close()

    def process_item(self, item):
        self.writer.writerow(ItemAdapter(item).values())
        return item
