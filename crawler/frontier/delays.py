"""The delays between requests to a host, which go with the host from worker to worker."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy.crawler import Crawler


def read_delays(crawler: Crawler) -> dict[str, float]:
    """Return the seconds between two requests to each host that is being asked, as AutoThrottle has learned them."""
    downloader = crawler.engine.downloader if crawler.engine else None
    return {} if downloader is None else {host: slot.delay for host, slot in downloader.slots.items()}


def set_delays(crawler: Crawler, delays: Mapping[str, float]) -> None:
    """Begin with the delays that other workers have learned; AutoThrottle goes on from there."""
    downloader = crawler.engine.downloader if crawler.engine else None
    if downloader is None:
        return
    for host, delay in delays.items():
        if host in downloader.slots:
            downloader.slots[host].delay = delay
        else:
            downloader.per_slot_settings[host] = {**downloader.per_slot_settings.get(host, {}), "delay": delay}
