import scrapy

from forum.items import Member, Post


class ThreadsSpider(scrapy.Spider):
    name = "threads"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        for post in response.css("div.post"):
            author = post.css("b::text").get()
            yield Post(url=response.url, author=author, message=post.css("p::text").get())
            if joined := post.css("i::text").get():
                yield Member(nick=author, joined=joined)
        yield from response.follow_all(css="a.next")
