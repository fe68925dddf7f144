"""The targets of a scrape source, and the time between two scrapes of them."""

from urllib.parse import urlsplit

from accounting.metering.models.cluster import Source
from accounting.metering.sources.scrape import ScrapeTarget

# As `portal/timetable.py` starts them, for all sources: the `interval` of a source is how long its
# samples are valid (rules.md N4), not when it is scraped.
SCRAPE_S = 30


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
