ITEM_PIPELINES = {"pipelines.CsvPipeline": 543}
