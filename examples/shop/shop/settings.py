BOT_NAME = "shop"

SPIDER_MODULES = ["shop.spiders"]
NEWSPIDER_MODULE = "shop.spiders"

ADDONS = {"dedup.DedupAddon": 500}

ROBOTSTXT_OBEY = True

ITEM_PIPELINES = {
    "shop.pipelines.JsonLinesPipeline": 1,
}

FEED_EXPORT_ENCODING = "utf-8"
