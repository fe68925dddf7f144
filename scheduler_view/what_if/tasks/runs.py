"""Jobs of what-ifs: claimed by a worker, replayed with progress, canceled (scheduling.md S36).

The state is in PostgreSQL; a message only wakes a worker. A killed worker's run starts again.
"""

import time
from datetime import timedelta
from typing import Any

import structlog
from django.db.models import F, Q

from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.setup.tasks.yaml_lines import DocumentError
from scheduler_view.what_if.models import WhatIfRun, WhatIfState
from scheduler_view.what_if.reads.recorded_weeks import recorded_weeks
from scheduler_view.what_if.rules.what_ifs.scenario import ScenarioError
from scheduler_view.what_if.rules.what_ifs.what_if import what_if
from scheduler_view.what_if.tasks.request import read_request
from scheduler_view.what_if.tasks.rows import (
    answer_rows,
    calibration_line,
    verdict_line,
)

log = structlog.get_logger(__name__)
LEASE = timedelta(minutes=5)  # without a sign of the worker, another one starts again
SIGN_S = 2.0  # between two signs of life
MOST_ATTEMPTS = 3
UNFINISHED = (WhatIfState.QUEUED, WhatIfState.RUNNING)


class LostRunError(Exception):
    """The run was canceled, or another worker has started it again."""


def next_run() -> WhatIfRun | None:
    """Claim the oldest run that waits, or whose worker died; None if there is none."""
    now = database_now()
    due = Q(state=WhatIfState.QUEUED) | Q(
        state=WhatIfState.RUNNING, seen_at__lt=now - LEASE
    )
    for found in WhatIfRun.objects.filter(due).order_by("id"):
        if found.attempt >= MOST_ATTEMPTS:
            _finish(
                found,
                WhatIfState.FAILED,
                error=f"stopped {MOST_ATTEMPTS} times without an error",
            )
            continue
        claimed = WhatIfRun.objects.filter(
            due, pk=found.pk, attempt=found.attempt
        ).update(
            state=WhatIfState.RUNNING,
            attempt=F("attempt") + 1,
            seen_at=now,
            started_at=now,
            step="",
            events_done=0,
            events_known=0,
        )
        if claimed:
            found.refresh_from_db()
            return found
    return None


def run(found: WhatIfRun) -> bool:
    """Compute a claimed run; True if it is complete. What cannot be answered is its error."""
    try:
        result = _result(found)
    except DocumentError as error:
        message = "; ".join(fault.message for fault in error.faults)
        _finish(found, WhatIfState.FAILED, error=message)
        return False
    except ScenarioError as error:
        _finish(found, WhatIfState.FAILED, error=str(error))
        return False
    except LostRunError:
        log.info("what-if is not computed here any more", run=found.pk)
        return False
    return _finish(found, WhatIfState.DONE, result=result)


def stop_run(number: int, reason: str) -> bool:
    """End a run that waits or runs; its worker stops at its next sign of life.

    Returns False if it was finished already.
    """
    return bool(
        WhatIfRun.objects.filter(pk=number, state__in=UNFINISHED).update(
            state=WhatIfState.CANCELED,
            attempt=F("attempt") + 1,
            finished_at=database_now(),
            error=reason,
        )
    )


def _result(found: WhatIfRun) -> dict[str, Any]:
    names = Cluster.objects.values_list("name", flat=True)
    wanted = read_request(found.request, [*names])
    read = recorded_weeks(found.cluster, wanted.weeks)
    if read is None or not read.weeks.units:
        raise ScenarioError(
            f"{found.cluster.name} has no holds in the last {wanted.weeks} weeks"
        )
    computed = what_if(
        read.weeks,
        [one.scenario() for one in wanted.scenarios],
        wanted.policy or "",
        wanted.rate,
        _Signs(found),
    )
    chosen = computed.chosen
    return {
        "trust": str(chosen.trust),
        "verdict": verdict_line(chosen),
        "calibrations": [calibration_line(one) for one in computed.calibrations],
        "left_out": read.left_out,
        "rows": [row for answer in computed.answers for row in answer_rows(answer)],
    }


def _finish(
    found: WhatIfRun, state: WhatIfState, *, error: str = "", result: Any = None
) -> bool:
    values = {"state": state, "error": error, "finished_at": database_now()}
    if result is not None:
        values["result"] = result
    mine = WhatIfRun.objects.filter(pk=found.pk, attempt=found.attempt)
    return bool(mine.update(**values))


class _Signs:
    """Stores progress and the sign of life, every two seconds."""

    def __init__(self, found: WhatIfRun) -> None:
        self._run = found
        self._stored = 0.0

    def __call__(self, step: str, done: int, known: int) -> None:
        """Store progress.

        Raises:
            LostRunError: the run was canceled, or another worker has started it again.
        """
        if time.monotonic() - self._stored < SIGN_S:
            return
        self._stored = time.monotonic()
        mine = WhatIfRun.objects.filter(pk=self._run.pk, attempt=self._run.attempt)
        if not mine.update(
            step=step[:200],
            events_done=done,
            events_known=known,
            seen_at=database_now(),
        ):
            raise LostRunError
