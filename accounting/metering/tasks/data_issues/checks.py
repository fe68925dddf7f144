"""All checks of the data, in one list by event, and the function that runs them.

Titles and advice of findings are in `core/issue_catalogue`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from accounting.core.issue import Issue
from accounting.metering.tasks.data_issues import (
    of_hours,
    of_sources,
    of_windows,
    record,
)
from accounting.metering.tasks.data_issues.events import (
    Event,
    HoursRolledUp,
    NamesShown,
    SamplesLate,
    SourceFailed,
    SourceScraped,
    WindowsComputed,
)

Check = Callable[[Any], Iterable[Issue]]

CHECKS: Mapping[type[Event], tuple[Check, ...]] = {
    WindowsComputed: (
        of_windows.attributed,
        of_windows.answers,
        of_windows.gpu_errors,
        of_windows.metrics_twice,
        of_windows.holds,
        of_windows.misplaced_gpus,
        of_windows.hostnames,
        of_windows.more_than_capacity,
        of_windows.kube_state_jobs,
    ),
    HoursRolledUp: (
        of_hours.unpriced,
        of_hours.unmapped,
        of_hours.missing_gpus,
        of_hours.silent_cluster,
        of_hours.sampled_after_retired,
        of_hours.gpus_of_two_clusters,
    ),
    SourceFailed: (of_sources.failed,),
    SourceScraped: (of_sources.scrape_faults,),
    SamplesLate: (of_sources.clock_went_back,),
    NamesShown: (of_sources.unknown_metrics,),
}


def find(event: Event) -> list[Issue]:
    """The findings of an event's checks; nothing is stored.

    Issues of windows are stored with their facts (`commit.write_windows`), others by `run`.
    """
    return [issue for check in CHECKS[type(event)] for issue in check(event)]


def run(event: Event) -> None:
    """Store the findings of an event as open issues, and resolve those no longer found."""
    found = find(event)
    if isinstance(event, HoursRolledUp):
        of_hours.store(event, found)
    elif not isinstance(event, WindowsComputed):
        record.record(event.cluster.pk, found)
