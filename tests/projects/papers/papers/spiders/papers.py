import scrapy


class PapersSpider(scrapy.Spider):
    name = "papers"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        for link in response.css("a.pdf"):
            yield {"title": link.css("::text").get(), "file_urls": [response.urljoin(link.attrib["href"])]}
        yield from response.follow_all(css="a.next")
