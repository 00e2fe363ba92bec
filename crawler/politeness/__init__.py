"""What hosts ask of a crawl: how fast they are asked, when they are left alone, and what they forbid."""
