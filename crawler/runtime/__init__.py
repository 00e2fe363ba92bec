"""What a crawl runs on: worker processes, garbage collection, and corrections of Scrapy's own middlewares."""
