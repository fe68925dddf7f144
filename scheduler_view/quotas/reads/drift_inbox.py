"""Objects that differ from what is desired: they wait for an administrator."""

from collections.abc import Sequence
from datetime import datetime

from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from scheduler_view.clusters.models import Drift
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import QUOTA

DIFFERENCE = "difference"
_NAMES = {QUOTA: "Quota", "PriorityClass": "Tier"}
_PAGES = {"PriorityClass": "tiers"}  # all others are with the quotas


def _waiting(asker: Asker) -> list[InboxRow]:
    del asker
    found = Drift.objects.filter(state=DriftState.DIFFERS).select_related("cluster")
    return [_row(one) for one in found.order_by("since", "pk")]


def _row(one: Drift) -> InboxRow:
    kind = _NAMES.get(one.kind, one.kind)
    name = f"of {one.namespace}" if one.namespace else one.name
    return InboxRow(
        kind=DIFFERENCE,
        what=f"{kind} {name} differs from {one.cluster}{_figures(one)}",
        about=f"Changed with {one.who}" if one.who else one.message,
        since=one.since,
        does="Compare",
        route=_PAGES.get(one.kind, "quotas"),
        query={"cluster": one.cluster.name},
    )


def _figures(one: Drift) -> str:
    """`: 40 here, 44 there` of the only field that differs."""
    if len(one.changes) != 1:
        return ""
    _, desired, there = one.changes[0]
    return f": {_said(desired)} here, {_said(there)} there"


def _said(value: str | None) -> str:
    return "not set" if value is None else value


def _done(scope: Scope, since: datetime) -> Sequence[DoneRow]:
    """Nothing: a difference is resolved by a change set, which is in the history itself."""
    del scope, since
    return ()


DIFFERENCES = Kind(
    DIFFERENCE,
    "Difference",
    "quotas",
    lambda scope: scope.is_admin,
    "SELECT count(*) FROM scheduler_view_drift WHERE %(admin)s AND state = %(differs)s",
    _waiting,
    _done,
    lambda _: {"differs": DriftState.DIFFERS.value},
)
