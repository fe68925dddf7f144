"""Arguments of commands that read samples: clusters by name, ranges of time, scrape intervals."""

import re
from collections.abc import Sequence

from accounting.access.scope import EVERYTHING
from accounting.core.interval import WINDOW_MS, Interval, to_ms
from accounting.kit.commands.arguments import WrongUse
from accounting.kit.reads.database_clock import database_now
from accounting.kit.reads.selection import SelectionError, parse_selection
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.samples.scraper_series import MAX_STEP_MS

LONGEST_S = MAX_STEP_MS // 1000


def clusters_named(name: str | None) -> Sequence[Cluster]:
    """The cluster with a name; all clusters without a name.

    Raises:
        WrongUse: the cluster does not exist, or none is configured.
    """
    every = list(Cluster.objects.all())
    if not every:
        raise WrongUse(
            "no cluster is configured; write a setup file (see docs/example/ledger.yaml) and run "
            "`manage.py configure FILE`"
        )
    found = [cluster for cluster in every if name in (None, cluster.name)]
    if not found:
        known = ", ".join(cluster.name for cluster in every)
        raise WrongUse(f"no cluster is named {name!r}; known: {known}")
    return found


def ended_range(start: str | None, end: str | None) -> Interval | None:
    """The part of a range that has ended; None without a range.

    Args:
        start, end: ISO 8601 with offset, or a date (midnight in the billing time zone).

    Raises:
        WrongUse: only one of the two, not times on five-minute boundaries, or a range that has not
            started.
    """
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise WrongUse("--from and --to must be used together")
    try:
        period = parse_selection(EVERYTHING, start, end, {}).period
    except SelectionError as error:
        raise WrongUse(str(error)) from error
    if period is None:
        raise WrongUse("the range from --from to --to is empty")
    now_ms = to_ms(database_now())
    end_ms = min(period.end_ms, now_ms - now_ms % WINDOW_MS)
    if end_ms <= period.start_ms:
        raise WrongUse(f"--from ({start}) is in the future")
    return Interval(period.start_ms, end_ms)


def interval_of(text: str | None) -> int | None:
    """Seconds between two samples (rules.md N4); None if not given.

    Raises:
        WrongUse: not an integer from 1 to 300.
    """
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= LONGEST_S:
        raise WrongUse(
            f"--interval {text!r} is not a whole number of seconds from 1 to {LONGEST_S}"
        )
    return int(text)
