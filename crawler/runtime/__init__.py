"""What a crawl runs on: worker processes, garbage collection, cookies."""
