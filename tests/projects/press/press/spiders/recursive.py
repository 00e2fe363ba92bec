from urllib.parse import urlsplit

import scrapy

from press.items import PressItem


class RecursiveSpider(scrapy.Spider):
    name = "recursive"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        yield from response.follow_all(css="nav a", callback=self.parse)
        if response.css("article"):
            yield PressItem(
                url=response.url,
                source_domain=urlsplit(response.url).hostname,
                html_title=response.css("title::text").get().encode(),
                spider_response=response,
            )
