BOT_NAME = "forum"
SPIDER_MODULES = ["forum.spiders"]
ITEM_PIPELINES = {
    "forum.pipelines.StripPipeline": 100,
    "forum.pipelines.SqlitePipeline": 300,
}
# The same post by another member is spam here.
DEDUP_DISTINCT_FIELDS: list[str] = []
