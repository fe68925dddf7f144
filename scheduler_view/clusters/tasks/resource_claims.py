"""Reads the devices of resource claims, for the ledger; needs only permission to list."""

from datetime import timedelta

from accounting.core.interval import Interval, to_ms
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.evidence.resource_claims import (
    ObservedClaim,
    observe_claims,
)
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.errors import ClusterError, NotFound
from scheduler_view.clusters.client.kinds import CLAIM, OLD_CLAIM, OLD_SLICE, SLICE
from scheduler_view.clusters.rules.resource_claims import given

REACH = timedelta(days=1)  # how long a claim that is new to us may have been held


def observe_devices(cluster: Cluster, client: ClusterClient) -> int:
    """Store the devices of claims in the ledger; returns how many are new or changed.

    Empty for a cluster without such claims, or whose reader may not list them: then exporters'
    labels are used (N13), and data health lists claims without a known device
    (`claim_without_device`).
    """
    try:
        try:
            claims, slices = client.list(CLAIM).objects, client.list(SLICE).objects
        except NotFound:
            claims = client.list(OLD_CLAIM).objects
            slices = client.list(OLD_SLICE).objects
    except ClusterError:
        return 0
    found = given((c.manifest for c in claims), (s.manifest for s in slices))
    now = database_now()
    return observe_claims(
        cluster,
        [
            ObservedClaim(
                g.namespace, g.name, g.devices, g.pods, g.is_extended, g.created_ms
            )
            for g in found
        ],
        Interval(to_ms(now - REACH), to_ms(now)),
    )
