"""What-ifs and their results, newest first; and what a request can choose from (S36)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounting.access.models.teams import Team
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.metering.models.cluster import Cluster, NodeFact
from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.resources import kubernetes_resource, sanitised
from scheduler_view.what_if.models import WhatIfRun, WhatIfState


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    """One run.

    Attributes:
        name: of its scenarios.
        state: queued, running, done, failed, canceled.
        requested_by: a user name; "" for a command.
        step: what is replayed now; `share` is how much of it, of the events known so far.
        verdict: what the replay of what happened allows; "" before it is done.
        calibrations: its error, a line for each policy.
        left_out: holds that could not be replayed.
        rows: the answer; empty if there is none.
        error: why it failed, or who canceled it.
        request: as it was given.
    """

    id: int
    cluster: str
    weeks: int
    name: str
    state: str
    requested_by: str
    requested_at: datetime
    step: str
    share: float | None
    verdict: str
    trust: str
    calibrations: Sequence[str]
    left_out: int
    rows: Sequence[Mapping[str, Any]]
    error: str
    request: Mapping[str, Any]

    @property
    def is_unfinished(self) -> bool:
        """Whether it can be canceled."""
        return self.state in (WhatIfState.QUEUED, WhatIfState.RUNNING)


@dataclass(frozen=True, slots=True)
class WhatIfChoices:
    """What a request can name, as (value, text).

    Attributes:
        models: "resource model" of the nodes of all clusters.
    """

    clusters: Sequence[tuple[str, str]]
    models: Sequence[tuple[str, str]]
    teams: Sequence[tuple[str, str]]


def what_if_rows(
    *, clusters: Collection[str] | None = None, seek: Seek = ALL_ROWS
) -> list[WhatIfRow]:
    """Runs, newest first; one query.

    Args:
        clusters: only of these; None for all.
        seek: the page, by `what_if_key`.
    """
    runs = WhatIfRun.objects.select_related("cluster", "requested_by")
    if clusters is not None:
        runs = runs.filter(cluster__name__in=clusters)
    return [_row(run) for run in seek_rows(runs, ("-id",), seek)]


def what_if_key(row: WhatIfRow) -> Key:
    """The position of a run in `what_if_rows`."""
    return (row.id,)


def what_if_row(number: int) -> WhatIfRow | None:
    """One run; None if it does not exist."""
    runs = WhatIfRun.objects.select_related("cluster", "requested_by")
    run = runs.filter(pk=number).first()
    return None if run is None else _row(run)


def what_if_choices() -> WhatIfChoices:
    """Clusters, models and teams, by name."""
    names = {sanitised(resource): resource for resource in added_resources()}
    facts = NodeFact.objects.exclude(model="").values_list("model", "capacity")
    models = {
        (f"{resource} {model}", f"{model} ({resource})")
        for model, capacity in facts.distinct()
        for spelled in capacity or {"nvidia_com_gpu": 1}
        if (resource := kubernetes_resource(spelled, names) or spelled)
    }
    return WhatIfChoices(
        [(name, name) for name in Cluster.objects.values_list("name", flat=True)],
        sorted(models, key=lambda one: one[1]),
        list(Team.objects.order_by("name").values_list("slug", "name")),
    )


def _row(run: WhatIfRun) -> WhatIfRow:
    result = run.result
    known = run.events_known
    is_running = run.state == WhatIfState.RUNNING
    return WhatIfRow(
        id=run.pk,
        cluster=run.cluster.name,
        weeks=run.request.get("weeks", 4),
        name=", ".join(one["name"] for one in run.request["scenarios"]),
        state=run.state,
        requested_by=run.requested_by.get_username() if run.requested_by else "",
        requested_at=run.requested_at,
        step=run.step if is_running else "",
        share=run.events_done / known if is_running and known else None,
        verdict=result.get("verdict", ""),
        trust=result.get("trust", ""),
        calibrations=result.get("calibrations", ()),
        left_out=result.get("left_out", 0),
        rows=result.get("rows", ()),
        error=run.error,
        request=run.request,
    )
