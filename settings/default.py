"""Settings of the project, for any spider, on one machine: everything in one SQLite file."""

import os

from crawler.secrets import hide_secrets_of_settings
from crawler.settings import CrawlerSettings
from dedup.workers.loading import keep_single_threaded

# Here, since what Scrapy loads next imports NumPy.
keep_single_threaded()
hide_secrets_of_settings()

BOT_NAME = "neardup"
SPIDER_MODULES = ["crawler.spider"]
NEWSPIDER_MODULE = "crawler.spider"
COMMANDS_MODULE = "crawler.commands"

# Who crawls, and where to complain.
CRAWLER_CONTACT = os.environ.get("CRAWLER_CONTACT", CrawlerSettings.contact)
USER_AGENT = f"neardup/0.1 (+{CRAWLER_CONTACT})"

# What a site asks for is honoured: robots.txt, and noindex and nofollow of pages.
ROBOTSTXT_OBEY = True
# Of servers on this machine, AutoThrottle alone decides, see docs/start.md.
DOWNLOAD_DELAY = 1.0
DOWNLOAD_DELAY_JITTER = 0.0
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0
AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0

DOWNLOADER_MIDDLEWARES = {
    # In the place of Scrapy's, which asks servers of others for a list of domains.
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
    "crawler.runtime.OfflineCookiesMiddleware": 700,
    # In the place of Scrapy's, which takes a robots.txt that cannot be fetched for empty.
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "crawler.politeness.robots.ObeyedRobotsMiddleware": 100,
}

# Limits against hosts that stall and bodies that never end or unpack to gigabytes.
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
MEMUSAGE_LIMIT_MB = 2048
RETRY_TIMES = 1
REDIRECT_MAX_TIMES = 10

# The database: documents, permuted tables, verdicts, runs, pages.
DEDUP_DATABASE_URL = os.environ.get("DEDUP_DATABASE_URL", "sqlite:///crawl.db")

ADDONS = {"dedup.DedupAddon": 500}
EXTENSIONS = {
    # Before the others start anything: it may refuse a file.
    "crawler.feeds.writing.Feeds": 0,
    "scrapy.extensions.feedexport.FeedExporter": None,
    # In the place of Scrapy's, which looks at the most that was ever taken.
    "scrapy.extensions.memusage.MemoryUsage": None,
    "crawler.runtime.MemoryLimit": 0,
    # In the place of Scrapy's, which knows one least delay for all hosts.
    "scrapy.extensions.throttle.AutoThrottle": None,
    "crawler.politeness.pausing.Pace": 0,
    "crawler.metrics.Metrics": 0,
}

FEED_EXPORTERS = {
    "csv": "crawler.feeds.formats.SafeCsvItemExporter",
    "parquet": "crawler.feeds.formats.ParquetItemExporter",
    "marshal": "crawler.feeds.formats.MarshalTextExporter",
    # As Scrapy names the formats of pages.warc.gz, and of pages.warc, which is refused.
    "gz": "crawler.feeds.warc.WarcItemExporter",
    "warc": "crawler.feeds.warc.WarcItemExporter",
}
FEED_EXPORT_ENCODING = "utf-8"

LOG_LEVEL = "INFO"
# Both run what other processes on this machine send them.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
