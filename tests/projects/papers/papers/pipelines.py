import sqlite3


class CataloguePipeline:
    def open_spider(self):
        self.connection = sqlite3.connect("catalogue.db", isolation_level=None)
        self.connection.execute("CREATE TABLE papers (title TEXT, checksum TEXT, path TEXT)")

    def close_spider(self):
        self.connection.close()

    def process_item(self, item):
        rows = [(item["title"], file["checksum"], file["path"]) for file in item["files"]]
        self.connection.executemany("INSERT INTO papers VALUES (?, ?, ?)", rows)
        return item
