BOT_NAME = "news"

SPIDER_MODULES = ["news.spiders"]
NEWSPIDER_MODULE = "news.spiders"

ADDONS = {"dedup.DedupAddon": 500}

ROBOTSTXT_OBEY = True

ITEM_PIPELINES = {
    "news.pipelines.SqlitePipeline": 300,
}

FEED_EXPORT_ENCODING = "utf-8"
