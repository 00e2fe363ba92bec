"""Settings that only the spider `site` has, see `crawler.spider.site`.

Those of settings.default, and of the command line, come before these.
"""

import os

# Breadth-first: originals are usually linked closer to the front page than their copies.
DEPTH_PRIORITY = 1
# In the database, so that a crawl that was killed goes on where it was.
SCHEDULER = "crawler.frontier.scheduler.FrontierScheduler"
DOWNLOADER = "crawler.politeness.pausing.HostDownloader"
REQUEST_FINGERPRINTER_CLASS = "crawler.spider.conditional.RedirectFingerprinter"

DEDUP_TEXT_FIELD = '{"Page": "text", "UnexaminedPage": null}'
# Pages bring their signature, but for known bytes. One that could not be analysed is not tried again.
DEDUP_HTML_FIELD = "unread"
DEDUP_TITLE_FIELD = ""
# A page that is visited again in the same run has changed, and the paper's crawler follows no links of duplicates.
DEDUP_SAME_KEY = "update"
DEDUP_WORKERS = os.cpu_count() or 1
# Pages of a few words, as of errors, are no comments of people.
DEDUP_SHORT_TEXTS = "drop"
DEDUP_DISTINCT_FIELDS = '{"Page": []}'
DEDUP_FOLLOW_DUPLICATES = False
# Its pages are in the same database: without it there is nothing to crawl for.
DEDUP_ON_ERROR = "stop"

DEDUP_AFTER = ["crawler.limits.PageLimitPipeline"]
ITEM_PIPELINES = {
    "crawler.limits.PageLimitPipeline": 100,
    "crawler.pages.pipeline.StoragePipeline": 800,
}
DOWNLOADER_MIDDLEWARES = {
    # In the place of Scrapy's, with which a page is gone without a word that leads off the site.
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "crawler.spider.redirects.SiteRedirectMiddleware": 600,
    # In the place of Scrapy's, whose rules for what is a page are not those of archives.
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "crawler.spider.compression.CompressionMiddleware": 590,
    # In the place of Scrapy's, which does not look at ports.
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "crawler.politeness.inner_addresses.SiteMiddleware": 50,
    "crawler.warc.replaying.ReplayingMiddleware": 60,
    # Closer to the downloader than proxies (750) and what tries again.
    "crawler.politeness.inner_addresses.InnerAddressMiddleware": 760,
    # Closer to the downloader than redirects (600), and in the place of HTTPAUTH_USER (300) where both are there.
    "crawler.spider.logins.LoginMiddleware": 610,
    # Closer to the downloader than redirects (600), which say which addresses are the same.
    "crawler.spider.addresses.SiteAddressMiddleware": 620,
    # Closer to the downloader than retries (550) and redirects (600).
    "crawler.politeness.pausing.PausingMiddleware": 640,
    # Closer to the downloader than redirects (600) and compression (590).
    "crawler.spider.conditional.ConditionalMiddleware": 650,
    "crawler.spider.conditional.BreakingOffMiddleware": 660,
}
EXTENSIONS = {
    "crawler.runtime.Workers": 100,
    "crawler.runtime.RareCollection": 200,
    "crawler.output.Progress": 500,
    # Its lines say less than those of Progress.
    "scrapy.extensions.logstats.LogStats": None,
}
STATS_DUMP = False

# Bytes of responses that are dealt with at once. By default a long sitemap would stop all hosts until it is read.
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 64 * 1024 * 1024

# The spider yields one item a page; Scrapy makes this many tasks for each response.
CONCURRENT_ITEMS = 2

# Each of these takes time on every page and does nothing for this spider: it follows a refresh
# itself, bounds the length of links, and passes no meta on.
METAREFRESH_ENABLED = False
SPIDER_MIDDLEWARES = {
    # Closest to the engine, as what it is made of.
    "crawler.spider.links.PageLinksMiddleware": 10,
    # Closest to the spider.
    "crawler.warc.replaying.ArchiveOrderMiddleware": 990,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
}

FEED_EXPORT_FIELDS = [
    "url",
    "canonical",
    "title",
    "author",
    "date",
    "language",
    "description",
    "text",
    "extraction",
    "page_characters",
    "fetched",
    "depth",
    "referrer",
    "run",
    "verdict",
    "problem",
]
