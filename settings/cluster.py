"""Settings of a crawl by many workers, on one machine or several: everything in one PostgreSQL database.

All workers are started with the same arguments, the same database and the same name of the run.
"""

import os

from settings.default import *  # noqa: F403 -- only what differs stands here

# Workers share frontier, index, pages and report of a run.
CRAWLER_SHARED_RUN = True

# From the environment, since others could read a password on the command line.
DEDUP_DATABASE_URL = os.environ.get("DEDUP_DATABASE_URL", "postgresql://localhost/crawl")
DEDUP_RUN = os.environ.get("DEDUP_RUN", "")
