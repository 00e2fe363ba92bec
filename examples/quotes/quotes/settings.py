BOT_NAME = "quotes"

SPIDER_MODULES = ["quotes.spiders"]
NEWSPIDER_MODULE = "quotes.spiders"

ADDONS = {"dedup.DedupAddon": 500}
# A quote under 20 words that stands on two pages is one quote.
DEDUP_SHORT_TEXTS = "drop"

ROBOTSTXT_OBEY = True

ITEM_PIPELINES = {
    "quotes.pipelines.QuotesPipeline": 300,
}

FEEDS = {"quotes.jsonl": {"format": "jsonlines", "overwrite": True}}
FEED_EXPORT_ENCODING = "utf-8"
