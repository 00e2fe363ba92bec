BOT_NAME = "press"
SPIDER_MODULES = ["press.spiders"]
ITEM_PIPELINES = {
    "press.pipelines.ArticleExtractor": 100,
    "press.pipelines.HtmlFileStorage": 200,
    "press.pipelines.JsonFileStorage": 300,
}
