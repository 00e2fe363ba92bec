"""Feeds: written from the database when a crawl ends, and at any time after."""
