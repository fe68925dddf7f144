"""The targets of a scrape source, and how often they are read."""

from urllib.parse import urlsplit

from accounting.metering.models.cluster import Source
from accounting.metering.sources.scrape import ScrapeTarget

SCRAPE_S = 30  # between two scrapes, unless a source sets it


def scrape_interval_s(source: Source) -> int:
    """Seconds between two scrapes of a source."""
    return source.interval_s or SCRAPE_S


def targets_of(source: Source) -> list[ScrapeTarget]:
    """The addresses that a scrape source reads, with their scrapers' identities."""
    found: list[ScrapeTarget] = []
    for group in source.settings.get("targets", []):
        for url in group["urls"]:
            parts = urlsplit(url)
            path = parts.path.removesuffix("/metrics").strip("/")
            instance = f"{parts.netloc}/{path}" if path else parts.netloc
            found.append(ScrapeTarget(url, group["job"], instance))
    return found
