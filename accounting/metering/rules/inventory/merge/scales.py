"""Merges what scrapers show under names of whole percentages (rules.md N8)."""

from collections import defaultdict
from collections.abc import Container

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import (
    ChangedRecords,
    Everything,
    scraper_record,
)
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.metric_scales import WHOLE_PERCENT
from accounting.metering.rules.samples.series import ScraperIdentity, Series
from accounting.metering.rules.samples.shown_scales import (
    NOTHING,
    ONLY_ONES,
    ShownScale,
    together,
)


def observe_scales(
    inventory: Inventory,
    everything: Everything,
    period: Interval,
    touched: ChangedRecords,
    known: Container[ScraperIdentity],
) -> None:
    """Merge the samples of a period under names whose scale their source does not declare.

    A scraper is `rescaled` where fractions of any scraper are known under the name, and it showed
    values that are open, and where it showed only 0 and 1, and all scrapers together show another
    scale: nothing else is read otherwise than before. What a known scraper showed before this was
    kept, or while the name was declared, may be open.

    Args:
        inventory, everything, period, touched: as of every merge.
        known: the scrapers of earlier merges.
    """
    those: dict[tuple[ScraperIdentity, str], list[Series]] = defaultdict(list)
    for series, reading in everything:
        name = series.name
        is_percent = name in WHOLE_PERCENT and series.metric != "gpu_other"
        if is_percent and name not in reading.declared:
            those[series.scraper, name].append(series)
    names = {name for _, name in those}
    together_before = {name: _together(inventory, name) for name in names}
    only_ones = {
        (scraper, name)
        for scraper, record in inventory.scrapers.items()
        for name in names
        if record.scales.get(name) == ONLY_ONES
    }
    changed: list[tuple[ScraperIdentity, str]] = []
    for (scraper, name), found in those.items():
        record = scraper_record(inventory, scraper)
        before = record.scales.get(name, ONLY_ONES if scraper in known else NOTHING)
        now = before.joined(found, period)
        if now != record.scales.get(name):
            record.scales[name] = now
            touched.scrapers.add(scraper)
        if before.is_open and now.kind != before.kind:
            changed.append((scraper, name))
    odd = {
        name
        for record in inventory.scrapers.values()
        for name, shown in record.scales.items()
        if shown.fractions
    }
    touched.rescaled.update(scraper for scraper, name in changed if name in odd)
    moved = {
        name
        for name, before in together_before.items()
        if _together(inventory, name).kind != before.kind
    }
    touched.rescaled.update(scraper for scraper, name in only_ones if name in moved)


def _together(inventory: Inventory, name: str) -> ShownScale:
    records = inventory.scrapers.values()
    return together(record.scales.get(name, NOTHING) for record in records)
