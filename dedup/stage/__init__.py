"""The stage in a Scrapy project: add-on, item pipeline, spider middleware, commands. Nothing else imports Scrapy."""
