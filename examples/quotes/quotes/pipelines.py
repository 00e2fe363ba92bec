class QuotesPipeline:
    """Takes off the quotation marks."""

    def process_item(self, item):
        item["text"] = item["text"].strip("“”")
        return item
