import scrapy


class PressItem(scrapy.Item):
    url = scrapy.Field()
    source_domain = scrapy.Field()
    html_title = scrapy.Field()
    article_title = scrapy.Field()
    article_text = scrapy.Field()
    spider_response = scrapy.Field()
