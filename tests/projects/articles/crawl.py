"""A script with its own CrawlerProcess and no scrapy.cfg: python crawl.py URL"""

import sys

import attrs
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.settings import Settings


@attrs.define
class Article:
    url: str
    headline: str
    articleBody: str | None
    articleBodyHtml: str


class ArticlesSpider(scrapy.Spider):
    name = "articles"

    def parse(self, response):
        yield from response.follow_all(css="nav a", callback=self.parse_article)

    def parse_article(self, response):
        html = response.css("article").get()
        # Of older pages there is only the markup.
        text = None if "/old/" in response.url else " ".join(response.css("article p::text").getall())
        yield Article(response.url, response.css("title::text").get(), text, html)


if __name__ == "__main__":
    settings = Settings()
    settings.setmodule("settings")
    process = CrawlerProcess(settings)
    process.crawl(ArticlesSpider, start_urls=[sys.argv[1]])
    process.start()
