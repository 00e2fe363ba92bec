import scrapy


class StoryItem(scrapy.Item):
    title = scrapy.Field()
    link = scrapy.Field()
    content_intro = scrapy.Field()
    article_text = scrapy.Field()
