# A crawl in a container: `docker run IMAGE -a url=https://example.com`. See docs/operating.md.
FROM python:3.11-slim

WORKDIR /app
COPY requirements/crawl.txt requirements/
RUN python -m pip install --no-cache-dir --disable-pip-version-check -r requirements/crawl.txt

COPY pyproject.toml setup.py build_backend.py README.md LICENSE scrapy.cfg scrapy_neardup.py ./
COPY dedup dedup
COPY crawler crawler
COPY settings settings
# The compiler, which is that of zig, stays out of the image.
RUN zig=$(python build_backend.py) \
    && if [ -n "$zig" ]; then python -m pip install --no-cache-dir --target /tmp/zig $zig; fi \
    && export PYTHONPATH=/tmp/zig ZIG_GLOBAL_CACHE_DIR=/tmp/zig/cache \
    && python -m pip install --no-cache-dir --disable-pip-version-check --no-build-isolation --no-deps -e . \
    && rm -rf /tmp/zig

RUN useradd --create-home --uid 10001 crawler && install --directory --owner crawler /data

# Where Scrapy finds scrapy.cfg, and Python the crawler, from any folder.
ENV XDG_CONFIG_HOME=/app PYTHONPATH=/app PYTHONUNBUFFERED=1
USER crawler
# Database and feeds are written to the folder where a crawl starts.
WORKDIR /data
VOLUME /data
# Whether its database is there and answers.
HEALTHCHECK --interval=1m --start-period=1m CMD dedup runs
ENTRYPOINT ["scrapy", "crawl", "site"]
