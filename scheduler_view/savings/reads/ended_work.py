"""Work that holds nothing now, and work of a kind that makes its pods again."""

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Count, F, Max

from accounting.metering.models.pod import PodHold
from scheduler_view.savings.reads.recommendation_row import RecommendationRow, families
from scheduler_view.savings.rules.recommend import is_current, weeks_together
from scheduler_view.waits.rules.units import LASTING

RUNS_AGAIN = LASTING | {"CronJob"}


def last_ends(numbers: Collection[int]) -> dict[int, int]:
    """When the last hold of workloads ended, in ms; of those whose holds have all ended."""
    holds = PodHold.objects.filter(pod__workload__in=numbers).values("pod__workload")
    counted = holds.annotate(
        last_ms=Max("ended_ms"), over=Count("ended_ms"), every=Count("pk")
    )
    ends = counted.filter(over=F("every")).order_by()
    return dict(ends.values_list("pod__workload", "last_ms"))


def work_that_is_over(
    rows: Sequence[RecommendationRow], stopped_ms: Mapping[int, int]
) -> set[str]:
    """Tokens of rows about work that is over: nothing can be given back.

    It holds nothing now, and neither does its family; and it was not found in the newest week,
    nothing makes its pods again, or it was stopped (a service or a notebook of no hold since
    `stopped_ms` of its cluster).
    """
    ended = last_ends({row.subject[3] for row in rows} - {0})
    found = set()
    for family in families(rows):
        if any(row.subject[3] not in ended for row in family):
            continue
        is_alone = len(family) == 1 and family[0].row.kind not in RUNS_AGAIN
        weeks = weeks_together([row.weeks for row in family])
        is_stopped = family[0].row.kind in LASTING and all(
            ended[row.subject[3]] < stopped_ms[row.subject[0]] for row in family
        )
        if is_alone or is_stopped or not is_current(weeks):
            found |= {row.token for row in family}
    return found
