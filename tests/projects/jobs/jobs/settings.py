BOT_NAME = "jobs"
SPIDER_MODULES = ["jobs.spiders"]
ITEM_PIPELINES = {
    "jobs.pipelines.ModelPipeline": 100,
    "jobs.pipelines.SavePipeline": 300,
}
