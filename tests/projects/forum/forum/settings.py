BOT_NAME = "forum"
SPIDER_MODULES = ["forum.spiders"]
ITEM_PIPELINES = {
    "forum.pipelines.StripPipeline": 100,
    "forum.pipelines.SqlitePipeline": 300,
}
