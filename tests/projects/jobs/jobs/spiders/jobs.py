import scrapy

from jobs.items import Job


class JobsSpider(scrapy.Spider):
    name = "jobs"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        yield from response.follow_all(css="nav a", callback=self.parse_job)

    def parse_job(self, response):
        yield Job(
            url=response.url,
            title=response.css("title::text").get(),
            company="Wren & Daughters",
            description=response.css("article p::text").get(),
        )
