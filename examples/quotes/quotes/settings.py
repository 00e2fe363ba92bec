BOT_NAME = "quotes"

SPIDER_MODULES = ["quotes.spiders"]
NEWSPIDER_MODULE = "quotes.spiders"

ADDONS = {"dedup.DedupAddon": 500}

ROBOTSTXT_OBEY = True

ITEM_PIPELINES = {
    "quotes.pipelines.QuotesPipeline": 300,
}

FEEDS = {"quotes.jsonl": {"format": "jsonlines", "overwrite": True}}
FEED_EXPORT_ENCODING = "utf-8"
