"""What hosts may be asked and how: how fast, when they are left alone, what they forbid, and where no crawl goes."""
