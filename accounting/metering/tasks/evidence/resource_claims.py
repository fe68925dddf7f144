"""Resource claims and their devices, in the database (rules.md N13, trap T21).

kube-state shows that a pod has a claim, not how many devices it has. If the portal may read them
from the Kubernetes API, `observe_claims` stores them. Otherwise exporters' labels are used.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from accounting.core.interval import HOUR_MS, Interval
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import ResourceClaim
from accounting.metering.rules.inventory.records import ClaimRecord, Device, Inventory
from accounting.metering.tasks.windows import schedule

_FIELDS = ["devices", "pods", "is_observed", "is_extended", "is_shown"]


@dataclass(frozen=True, slots=True)
class ObservedClaim:
    """A claim as the API shows it.

    Attributes:
        devices: of its allocation; `uuid`, `instance` and `profile` from the slice's
            attributes if the driver sets them.
        pods: uids that it is reserved for.
        is_extended: created by the scheduler for an extended resource.
        created_ms: no pod had it before.
    """

    namespace: str
    name: str
    devices: tuple[Device, ...]
    pods: tuple[str, ...]
    is_extended: bool = False
    created_ms: int = 0


def observe_claims(
    cluster: Cluster, seen: Sequence[ObservedClaim], period: Interval
) -> int:
    """Store the claims of the API; returns how many were new or changed.

    A claim that is no longer in the API is kept as it was: its holds are past.

    Args:
        cluster: of the claims.
        seen: all claims that the API shows now.
        period: in which the claims may have been held: its windows become due again if anything
            changed.
    """
    with transaction.atomic():
        lock("evidence", cluster.pk)
        known = {
            (row.namespace, row.name): row
            for row in ResourceClaim.objects.filter(cluster=cluster)
        }
        rows: list[ResourceClaim] = []
        starts: list[int] = []
        for claim in seen:
            old = known.get((claim.namespace, claim.name))
            row = _row(cluster, _record(claim, old))
            if _differs(row, old):
                rows.append(row)
                starts.append(_touched_from(claim, old, period))
        _write(rows)
        if rows:
            touched = Interval(min(starts), period.end_ms)
            schedule.mark_existing(cluster.pk, [touched], "claims")
    return len(rows)


def _touched_from(
    claim: ObservedClaim, known: ResourceClaim | None, period: Interval
) -> int:
    """Since when a change of a claim matters; a change of its pods matters for the last hour."""
    before = {Device(*parts) for parts in known.devices} if known is not None else set()
    is_same = known is not None and {d for d in before if not d.pod} == set(
        claim.devices
    )
    since = period.end_ms - HOUR_MS if is_same else claim.created_ms
    return min(max(period.start_ms, since), period.end_ms - 1)


def load(cluster: Cluster, inventory: Inventory) -> None:
    """Put every claim of a cluster into its inventory."""
    for row in ResourceClaim.objects.filter(cluster=cluster):
        inventory.claims[row.namespace, row.name] = ClaimRecord(
            row.namespace,
            row.name,
            {Device(*parts) for parts in row.devices},
            set(row.pods),
            row.is_observed,
            row.is_extended,
            row.is_shown,
        )


def save(
    cluster: Cluster, inventory: Inventory, touched: Iterable[tuple[str, str]]
) -> None:
    """Write the claims that a merge changed."""
    _write([_row(cluster, inventory.claims[key]) for key in sorted(touched)])


def _record(claim: ObservedClaim, known: ResourceClaim | None) -> ClaimRecord:
    """The record to store; pods for which it is no longer reserved keep their devices."""
    devices = set(claim.devices)
    if known is not None and known.is_observed:
        before = {Device(*parts) for parts in known.devices}
        gone = sorted(set(known.pods) - set(claim.pods))
        devices |= {device for device in before if device.pod}
        devices |= {
            replace(device, pod=uid)
            for device in before
            if not device.pod
            for uid in gone
        }
    return ClaimRecord(
        claim.namespace,
        claim.name,
        devices,
        set(claim.pods),
        is_observed=True,
        is_extended=claim.is_extended,
        is_shown=known is not None and known.is_shown,
    )


def _row(cluster: Cluster, record: ClaimRecord) -> ResourceClaim:
    return ResourceClaim(
        cluster=cluster,
        namespace=record.namespace,
        name=record.name,
        devices=[
            [d.driver, d.node, d.name, d.uuid, d.instance, d.profile, d.pod]
            for d in sorted(record.devices)
        ],
        pods=sorted(record.pods),
        is_observed=record.is_observed,
        is_extended=record.is_extended,
        is_shown=record.is_shown,
    )


def _differs(row: ResourceClaim, known: ResourceClaim | None) -> bool:
    return known is None or any(getattr(row, f) != getattr(known, f) for f in _FIELDS)


def _write(rows: Sequence[ResourceClaim]) -> None:
    ResourceClaim.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["cluster", "namespace", "name"],
        update_fields=_FIELDS,
    )
