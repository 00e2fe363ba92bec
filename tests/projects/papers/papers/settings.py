BOT_NAME = "papers"
SPIDER_MODULES = ["papers.spiders"]
FILES_STORE = "pdf"
ITEM_PIPELINES = {
    "scrapy.pipelines.files.FilesPipeline": 1,
    "papers.pipelines.CataloguePipeline": 300,
}
