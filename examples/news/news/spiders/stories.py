from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import CrawlSpider, Rule

from news.items import StoryItem


class StoriesSpider(CrawlSpider):
    name = "stories"

    rules = (
        Rule(LinkExtractor(allow=r"/sections/")),
        Rule(LinkExtractor(allow=r"/(stories|print|agency)/"), callback="parse_story", follow=True),
    )

    def __init__(self, url="http://localhost:8000/", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse_story(self, response):
        loader = ItemLoader(StoryItem(), response)
        loader.add_css("title", "h1::text")
        loader.add_value("link", response.url)
        loader.add_css("content_intro", "p.intro::text")
        loader.add_css("article_text", "article p:not(.intro)::text")
        return loader.load_item()
