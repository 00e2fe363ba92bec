"""The site spider: its arguments, what it requests, and what a re-crawl asks for."""
