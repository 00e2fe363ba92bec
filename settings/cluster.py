"""Settings of a crawl in parts, each by a process of its own, on one machine or several, in one PostgreSQL database.

All are started with the same arguments, the same database and the same name of the run, and each with its part.
"""

import os

from settings.default import *  # noqa: F403 -- only what differs stands here

# 2/4: the second of four processes, which share frontier, index, pages and report of a run.
CRAWLER_PART = os.environ.get("CRAWLER_PART")

# From the environment, since others could read a password on the command line.
DEDUP_DATABASE_URL = os.environ.get("DEDUP_DATABASE_URL", "postgresql://localhost/crawl")
DEDUP_RUN = os.environ.get("DEDUP_RUN", "")
