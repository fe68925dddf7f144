"""Work that holds nothing now, and work of a kind that makes its pods again."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef

from accounting.models import PodHold, Workload
from scheduler_view.domain.waits.units import LASTING

RUNS_AGAIN = LASTING | {"CronJob"}


def without_holds(numbers: Collection[int]) -> set[int]:
    """Those of some workloads whose holds are known and have all ended."""
    holds = PodHold.objects.filter(pod__workload=OuterRef("pk"))
    found = Workload.objects.filter(pk__in=numbers).filter(
        Exists(holds), ~Exists(holds.filter(ended_ms=None))
    )
    return set(found.values_list("pk", flat=True))
