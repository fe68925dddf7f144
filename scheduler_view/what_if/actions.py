"""Requests of what-ifs that a worker computes (scheduling.md S36)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounting.kit.audit import Actor, act
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.wakeup import wake_worker
from accounting.metering.models.cluster import Cluster
from scheduler_view.what_if.models import WhatIfRun
from scheduler_view.what_if.tasks.request import read_request
from scheduler_view.what_if.tasks.runs import UNFINISHED, stop_run

COMPUTE = "scheduler_view.tasks.compute_what_ifs"
MOST_QUEUED = 5  # of all people: a run keeps a worker busy


def request_what_if(
    values: Mapping[str, Any], *, actor: Actor, now: datetime
) -> WhatIfRun:
    """Queue a what-if and wake a worker; without Redis, beat does so within a minute.

    Args:
        values: as in a file; checked here, so that a wrong one fails at once.
        actor: the person, or the name of a command.
        now: time of the request.

    Raises:
        DocumentError: what is wrong with the request.
        Refused: too many runs are waiting or running.
    """
    clusters = {one.name: one for one in Cluster.objects.all()}
    wanted = read_request(values, [*clusters])
    if WhatIfRun.objects.filter(state__in=UNFINISHED).count() >= MOST_QUEUED:
        raise Refused(
            f"{MOST_QUEUED} what-ifs are not finished: wait for one of them or cancel it",
            RefusalCode.CONFLICT,
        )
    with act(actor, f"what-if of {wanted.cluster}"):
        wake_worker(COMPUTE)
        return WhatIfRun.objects.create(
            cluster=clusters[wanted.cluster],
            request=dict(values),
            requested_by_id=None if isinstance(actor, str) else actor.pk,
            requested_at=now,
        )


def cancel_what_if(run: WhatIfRun, *, actor: Actor) -> bool:
    """End a run that waits or runs; its worker stops within seconds.

    Returns False if it was finished already; then nothing changes.
    """
    name = actor if isinstance(actor, str) else actor.get_username()
    with act(actor, f"cancel what-if {run.pk}"):
        return stop_run(run.pk, f"canceled by {name}")
