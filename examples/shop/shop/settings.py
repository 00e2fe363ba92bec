BOT_NAME = "shop"

SPIDER_MODULES = ["shop.spiders"]
NEWSPIDER_MODULE = "shop.spiders"

ADDONS = {"dedup.DedupAddon": 500}
# Two customers who write "Great kettle!" have written two reviews.
DEDUP_SHORT_TEXTS = "pass"

ROBOTSTXT_OBEY = True

ITEM_PIPELINES = {
    "shop.pipelines.JsonLinesPipeline": 1,
}

FEED_EXPORT_ENCODING = "utf-8"
