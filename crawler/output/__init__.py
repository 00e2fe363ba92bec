"""What a person sees of a crawl: skipped pages, progress, the summary."""
