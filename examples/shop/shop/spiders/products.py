import scrapy

from shop.items import Product, Review


class ProductsSpider(scrapy.Spider):
    name = "products"

    def __init__(self, url="http://localhost:8000/", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product)

    def parse_product(self, response):
        yield Product(
            title=response.css("h1::text").get(),
            category=response.css("p.category::text").get(),
            description=response.css("p.description::text").get(),
            price=response.css("p.price::text").get(),
        )
        for review in response.css("blockquote.review"):
            yield Review(id_=int(review.attrib["data-id"]), content=review.css("::text").get())
