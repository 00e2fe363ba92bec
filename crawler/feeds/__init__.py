"""Feeds of a crawl, `-o` and `scrapy export`: the pages that a run has kept, from the database."""
