import sqlite3


class SqlitePipeline:
    """Stores each story as a row of news.db."""

    def open_spider(self):
        self.connection = sqlite3.connect("news.db")
        self.connection.execute("CREATE TABLE IF NOT EXISTS stories (link TEXT PRIMARY KEY, title TEXT, text TEXT)")

    def close_spider(self):
        self.connection.close()

    def process_item(self, item):
        text = "\n".join(item["content_intro"] + item["article_text"])
        with self.connection:
            self.connection.execute(
                "INSERT OR REPLACE INTO stories VALUES (?, ?, ?)", (item["link"][0], item["title"][0], text)
            )
        return item
