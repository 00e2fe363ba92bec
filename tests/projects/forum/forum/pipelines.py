import sqlite3

from forum.items import Post


class StripPipeline:
    def process_item(self, item):
        if isinstance(item, Post):
            item.message = item.message.strip()
        return item


class SqlitePipeline:
    def open_spider(self):
        self.connection = sqlite3.connect("forum.db", isolation_level=None)
        self.connection.execute("CREATE TABLE posts (url TEXT, author TEXT, message TEXT)")
        self.connection.execute("CREATE TABLE members (nick TEXT, joined INTEGER)")

    def close_spider(self):
        self.connection.close()

    def process_item(self, item):
        table = "posts" if isinstance(item, Post) else "members"
        values = list(item.model_dump().values())
        self.connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        return item
