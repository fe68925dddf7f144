"""Rejects a mistyped cluster: one that is not configured and whose GPUs are known in another.

A cluster that `configure` named, or that a person confirmed as new, is never rejected: GPUs that
it shares with another one are a data issue then (rules.md N37, N39).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from accounting.core.interval import Interval
from accounting.kit.outcomes import Refused
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.shared_gpus import (
    ClusterPresence,
    presences_of,
    shared_with,
)
from accounting.metering.sources.openmetrics import Spool
from accounting.metering.sources.samples import meaning_of


def refuse_known_gpus(cluster_name: str, spooled: Spool) -> None:
    """Reject files for a cluster that is not configured, if another one has their GPUs.

    Reads only; a GPU that the cluster itself has at that time does not count.

    Raises:
        Refused: names the cluster that has them.
    """
    if Cluster.objects.filter(name=cluster_name, is_confirmed=True).exists():
        return
    if spooled.first_ms is None or spooled.last_ms is None:
        return
    uuids = _uuids(spooled)
    period = Interval(spooled.first_ms, spooled.last_ms + 1)
    known = presences_of(set(filter(None, uuids)), period)
    if all(presence.cluster == cluster_name for presence in known):
        return
    found = _sampled_in(spooled, uuids, known, cluster_name)
    if found:
        other = max(found, key=lambda name: (len(found[name]), name))
        raise Refused(_message(cluster_name, other, sorted(found[other])))


def refuse_shared_gpus(cluster: Cluster) -> None:
    """Reject a cluster that is not configured, if an older one has its GPUs.

    Raises:
        Refused: names the cluster that has them.
    """
    if cluster.is_confirmed:
        return
    for other, count, example in shared_with(cluster.pk):
        uuids = [example, *[""] * (count - 1)]
        raise Refused(_message(cluster.name, other, uuids))


def confirm(name: str) -> None:
    """Store that a cluster is separate, whatever GPUs it shares; creates it if missing."""
    cluster, _ = Cluster.objects.get_or_create(
        name=name, defaults={"is_confirmed": True}
    )
    if not cluster.is_confirmed:
        cluster.is_confirmed = True
        cluster.save(update_fields=["is_confirmed"])


def _message(name: str, other: str, uuids: Sequence[str]) -> str:
    which = uuids[0] if len(uuids) == 1 else f"{uuids[0]} and {len(uuids) - 1} more"
    return (
        f"no cluster {name!r} is configured, and the cluster {other!r} has the same GPUs"
        f" at the same time ({which}). Nothing was written. Use --cluster {other} if the"
        f" name is mistyped, or add --new if {name!r} is another cluster."
    )


def _uuids(spooled: Spool) -> list[str]:
    """The UUID of each series of a spool; "" for series without a GPU."""
    found: list[str] = []
    for raw in spooled.series:
        meaning = meaning_of(raw, ())
        found.append(meaning.gpu.uuid if meaning and meaning.gpu else "")
    return found


def _sampled_in(
    spooled: Spool, uuids: Sequence[str], known: Iterable[ClusterPresence], own: str
) -> dict[str, set[str]]:
    """The UUIDs with a sample while another cluster has them, by cluster."""
    elsewhere: dict[str, list[ClusterPresence]] = defaultdict(list)
    ours: dict[str, list[Interval]] = defaultdict(list)
    for presence in known:
        if presence.cluster == own:
            ours[presence.uuid].append(presence.period)
        else:
            elsewhere[presence.uuid].append(presence)
    is_asked = np.array([uuid in elsewhere for uuid in uuids], bool)
    found: dict[str, set[str]] = defaultdict(set)
    for hour in spooled.hours():
        batch = spooled.hour(hour)
        chosen = is_asked[batch.ids]
        ids, times = batch.ids[chosen], batch.times[chosen]
        for i in np.unique(ids).tolist():
            new = times[ids == i]
            for period in ours[uuids[i]]:
                new = new[(new < period.start_ms) | (new >= period.end_ms)]
            for presence in elsewhere[uuids[i]]:
                period = presence.period
                if ((new >= period.start_ms) & (new < period.end_ms)).any():
                    found[presence.cluster].add(uuids[i])
    return found
