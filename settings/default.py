"""Settings of the crawl on one machine: everything in one SQLite file."""

import os

from dedup.loading import keep_single_threaded

# Here, since what Scrapy loads next imports NumPy.
keep_single_threaded()

BOT_NAME = "neardup"
SPIDER_MODULES = ["crawler.spiders"]

# Who crawls, and where to complain.
CRAWLER_CONTACT = os.environ.get("CRAWLER_CONTACT", "no contact given")
USER_AGENT = f"neardup/0.1 (+{CRAWLER_CONTACT})"

# What a site asks for is honoured.
ROBOTSTXT_OBEY = True
CRAWLER_OBEY_META_ROBOTS = True
CRAWLER_OBEY_REL_NOFOLLOW = True
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 0.5
AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0

# Breadth-first: originals are usually linked closer to the front page than their copies.
DEPTH_PRIORITY = 1
# In the database, so that a crawl that was killed goes on where it was.
SCHEDULER = "crawler.frontier.FrontierScheduler"

# Limits against hosts that stall and bodies that never end or unpack to gigabytes.
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
RETRY_TIMES = 1
REDIRECT_MAX_TIMES = 10

# The database: documents, permuted tables, verdicts, runs, pages.
DEDUP_DATABASE_URL = "sqlite:///crawl.db"
DEDUP_VERDICT_FIELD = "verdict"
DEDUP_REPLACES_FIELD = "replaces"
# Pages bring their signature, but for known bytes. One that could not be analysed is not tried again.
DEDUP_HTML_FIELD = "unread"

ADDONS = {"dedup.DedupAddon": 500}
ITEM_PIPELINES = {
    "crawler.pipelines.PageLimitPipeline": 100,
    "crawler.pipelines.StoragePipeline": 800,
}
DOWNLOADER_MIDDLEWARES = {
    # Closer to the downloader than redirects (600) and compression (590).
    "crawler.conditional.ConditionalMiddleware": 650,
}
REQUEST_FINGERPRINTER_CLASS = "crawler.spiders.kinds.KindFingerprinter"
EXTENSIONS = {
    "crawler.workers.Workers": 100,
    "crawler.garbage.RareCollection": 200,
    "crawler.progress.Progress": 500,
    # Its lines say less than those of Progress.
    "scrapy.extensions.logstats.LogStats": None,
}

# The spider yields one item a page; Scrapy makes this many tasks for each response.
CONCURRENT_ITEMS = 2

# Each of these takes time on every page and does nothing for this spider: it follows meta refresh
# as a link, bounds the length of links itself, and passes no meta on.
METAREFRESH_ENABLED = False
SPIDER_MIDDLEWARES = {
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
}

FEED_EXPORTERS = {"parquet": "crawler.exporters.ParquetItemExporter"}
FEED_EXPORT_ENCODING = "utf-8"
FEED_EXPORT_FIELDS = [
    "url",
    "canonical",
    "title",
    "author",
    "date",
    "language",
    "description",
    "text",
    "fetched",
    "depth",
    "referrer",
    "run",
    "verdict",
    "problem",
]

LOG_LEVEL = "INFO"
STATS_DUMP = False
# Both run what other processes on this machine send them.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
