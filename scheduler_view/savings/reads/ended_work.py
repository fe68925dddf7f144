"""Work that holds nothing now, and work of a kind that makes its pods again."""

from collections.abc import Collection, Mapping, Sequence

from django.db import connection
from django.db.models import Max

from accounting.metering.models.pod import PodHold
from scheduler_view.savings.reads.recommendation_row import Found, families_found
from scheduler_view.savings.rules.recommend import is_current
from scheduler_view.waits.rules.units import LASTING

RUNS_AGAIN = LASTING | {"CronJob"}
_ENDED = """
WITH held AS (
    SELECT DISTINCT p.workload_id
    FROM accounting_podhold h JOIN accounting_pod p ON p.id = h.pod_id
    WHERE h.ended_ms IS NULL
)
SELECT w.id FROM unnest(%s::bigint[]) AS w (id)
WHERE NOT EXISTS (SELECT FROM held WHERE held.workload_id = w.id) AND EXISTS (
    SELECT FROM accounting_pod p JOIN accounting_podhold h ON h.pod_id = p.id
    WHERE p.workload_id = w.id OFFSET 0
)
"""


def ended_of(numbers: Collection[int]) -> set[int]:
    """Those of the workloads whose holds have all ended."""
    if not numbers:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, [list(numbers)])
        return {number for (number,) in cursor}


def _last_ends(numbers: Collection[int]) -> dict[int, int]:
    """When the last hold of workloads ended, in ms."""
    if not numbers:
        return {}
    holds = PodHold.objects.filter(pod__workload__in=numbers).values("pod__workload")
    ends = holds.annotate(last_ms=Max("ended_ms")).order_by()
    return dict(ends.values_list("pod__workload", "last_ms"))


def work_that_is_over(
    found: Sequence[Found], stopped_ms: Mapping[int, int]
) -> list[Found]:
    """Those about work that is over: nothing can be given back.

    It holds nothing now, and neither does its family; and it was not found in the newest week,
    nothing makes its pods again, or it was stopped (a service or a notebook of no hold since
    `stopped_ms` of its cluster).
    """
    ended = ended_of({one.subject[3] for one in found} - {0})
    over, lasting = [], []
    for family in families_found(found):
        kind = family[0].row.kind
        if any(one.subject[3] not in ended for one in family):
            continue
        is_alone = len(family) == 1 and kind not in RUNS_AGAIN
        if is_alone or not any(is_current(one.weeks) for one in family):
            over += family
        elif kind in LASTING:
            lasting.append(family)
    last = _last_ends({one.subject[3] for family in lasting for one in family})
    for family in lasting:
        if all(last[one.subject[3]] < stopped_ms[one.subject[0]] for one in family):
            over += family
    return over
