"""The frontier: the URLs known to a crawl and what became of each, in the database, so that no crash loses any."""
