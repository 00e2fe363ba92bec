"""Web archives: what a crawl fetches is written to WARC files, and a crawl takes its pages from them."""
