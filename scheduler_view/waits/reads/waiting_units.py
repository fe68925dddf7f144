"""Work that waits, why, who holds what it needs, and what would let it start.

As last explained from the objects of a cluster, else from metrics alone. Of pods of teams that the
person may not read, only the team, the tier and the amounts are shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from accounting.access.reads.teams import known_teams
from accounting.access.scope import Scope
from accounting.core.read_once import read_together
from accounting.core.unmapped import UNMAPPED
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.clusters.models import METRIC_WAITS, WAITS, ObservationRun
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.waits.reads.holder_costs import hourly_costs
from scheduler_view.waits.reads.waiting_row import (
    Change,
    HolderRow,
    Report,
    WaitingUnitRow,
)


def waiting_rows(
    scope: Scope, now: datetime, *, cluster: str = "", team: str = ""
) -> list[WaitingUnitRow]:
    """Waiting units of the teams that the person may read, longest first."""
    slugs = {number: team.slug for number, team in known_teams().items()}
    found: list[WaitingUnitRow] = []
    for one in clusters_named(cluster):
        if waits := _waits(one.pk):
            reader = _Reader(scope, one, waits, slugs, now)
            found += [
                row
                for wait in waits
                if reader.may_read(wait.namespace)
                and (row := reader.row(wait)).team == (team or row.team)
            ]
    return sorted(found, key=lambda row: (row.since or now, row.namespace, row.name))


def has_waits(cluster: str = "") -> bool:
    """Whether anybody's work waits, on one cluster or on any."""
    found = UnitWait.objects.filter(**{"cluster__name": cluster} if cluster else {})
    return found.exists()


@read_together
def _waits(clusters: Sequence[int]) -> Mapping[int, Sequence[UnitWait]]:
    found: dict[int, list[UnitWait]] = {one: [] for one in clusters}
    for wait in UnitWait.objects.filter(cluster__in=clusters):
        found[wait.cluster_id].append(wait)
    return found


def waiting_row(
    scope: Scope, now: datetime, cluster: Cluster, key: tuple[str, str, str]
) -> WaitingUnitRow | None:
    """One unit by kind, namespace and name; None if it does not wait or may not be read."""
    kind, namespace, name = key
    found = UnitWait.objects.filter(
        cluster=cluster, kind=kind, namespace=namespace, name=name
    ).first()
    if found is None:
        return None
    slugs = {number: team.slug for number, team in known_teams().items()}
    reader = _Reader(scope, cluster, [found], slugs, now)
    return reader.row(found) if reader.may_read(namespace) else None


def oldest_rows(
    scope: Scope, now: datetime, numbers: Sequence[int]
) -> dict[int, WaitingUnitRow]:
    """Units by the numbers of their pages, without those that the person may not read."""
    records = WaitRecord.objects.filter(pk__in=numbers).select_related("cluster")
    keys = {(r.cluster_id, r.kind, r.namespace, r.name): r for r in records}
    slugs = {number: team.slug for number, team in known_teams().items()}
    found: dict[int, WaitingUnitRow] = {}
    for cluster in {record.cluster for record in records}:
        own = [key[1:] for key in keys if key[0] == cluster.pk]
        waits = UnitWait.objects.filter(
            cluster=cluster, name__in=[name for *_, name in own]
        )
        meant = [w for w in waits if (w.kind, w.namespace, w.name) in own]
        reader = _Reader(scope, cluster, meant, slugs, now)
        found |= {
            keys[cluster.pk, w.kind, w.namespace, w.name].pk: reader.row(w)
            for w in meant
            if reader.may_read(w.namespace)
        }
    return found


class _Reader:
    """Rows of one cluster, as one person may see them."""

    def __init__(
        self,
        scope: Scope,
        cluster: Cluster,
        waits: Iterable[UnitWait],
        slugs: Mapping[int, str],
        now: datetime,
    ) -> None:
        self._scope, self._cluster, self._slugs = scope, cluster, slugs
        names = {wait.namespace for wait in waits}
        names |= {
            _namespace(held["pod"]) for wait in waits for held in _held(wait.content)
        }
        names |= {
            _namespace(one["budget"])
            for wait in waits
            for one in wait.content.get("facts", {}).get("drains", ())
        }
        self._owners = owners(cluster.pk, sorted(names), now)
        runs = ObservationRun.objects.filter(
            cluster=cluster, kind__in=(WAITS, METRIC_WAITS)
        )
        self._seen_at = dict(runs.values_list("kind", "seen_at"))
        self._numbers = _numbers(cluster, waits)
        uids = {held["uid"] for wait in waits for held in _held(wait.content)}
        self._costs = hourly_costs(scope, cluster, uids, now) if uids else {}

    def may_read(self, namespace: str) -> bool:
        number = self._owners.get(namespace)
        return self._scope.sees_all or (
            number is not None and self._scope.sees_team(number)
        )

    def row(self, wait: UnitWait) -> WaitingUnitRow:
        content = wait.content
        is_from_metrics = content.get("from_metrics", False)
        resource, units = content["resource"], content["units_per_pod"]
        return WaitingUnitRow(
            cluster=self._cluster.name,
            team=self._team(wait.namespace),
            namespace=wait.namespace,
            kind=wait.kind,
            name=wait.name,
            requested={resource: units} if resource and units is not None else {},
            pods_wanted=content["pods"]["wanted"],
            pods_bound=content["pods"]["bound"],
            pods_waiting=content["pods"]["waiting"],
            priority_class=content["priority_class"],
            since=wait.since,
            stage=wait.stage,
            cause=wait.cause,
            cause_since=wait.cause_since,
            contributing=content["contributing"],
            overlays=content["overlays"],
            preemption=content["preemption"],
            holders=[
                [self._holder(held) for held in found["blockers"]]
                for found in content["blockers"]
            ],
            starts_if=[self._shown(change) for change in content["starts_if"]],
            not_enough=[self._shown(c) for c in content.get("not_enough", ())],
            message=next((said["text"] for said in content["evidence"]), ""),
            seen_at=self._seen_at.get(METRIC_WAITS if is_from_metrics else WAITS),
            number=self._numbers.get((wait.kind, wait.namespace, wait.name)),
            is_from_metrics=is_from_metrics,
            free=content.get("facts", {}).get("free_behind", ()),
            cluster_queue=content.get("cluster_queue", ""),
            cohort=content.get("cohort", ""),
            let_in=[self._holder(held) for held in content.get("let_in", ())],
            lower=[self._holder(held) for held in content.get("inverted", ())],
            reports=[
                Report(
                    about=said.get("object", ""),
                    text=said["text"],
                    at=_instant(said.get("at_ms")),
                )
                for said in content["evidence"]
            ],
            facts=self._facts(content.get("facts", {})),
        )

    def _facts(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Without names of budgets that the person may not read."""
        drains = [
            one if self.may_read(_namespace(one["budget"])) else {**one, "budget": ""}
            for one in facts.get("drains", ())
        ]
        return {**facts, "drains": drains} if drains else facts

    def _team(self, namespace: str) -> str:
        number = self._owners.get(namespace)
        return UNMAPPED if number is None else self._slugs[number]

    def _holder(self, held: Mapping[str, Any]) -> HolderRow:
        namespace = _namespace(held["pod"])
        is_shown = self.may_read(namespace)
        kind, _, path = held["unit"].partition("/")
        unit = kind, namespace, path.partition("/")[2]
        cost = self._costs.get(held["uid"]) if is_shown else None
        return HolderRow(
            team=self._team(namespace),
            pod=held["pod"] if is_shown else "",
            unit=held["unit"] if is_shown else "",
            resource=held["resource"],
            units=held["units"],
            priority_class=held["priority_class"],
            is_own=held["is_own"],
            since=_instant(held["since_ms"]),
            idle_since=_instant(held.get("idle_since_ms")),
            number=self._numbers.get(unit) if is_shown else None,
            cost_per_hour=cost.amount if cost else None,
            currency=cost.currency if cost else "",
            ending_since=_instant(held.get("ending_ms")),
            finalizers=held.get("finalizers", ()) if is_shown else (),
            waits=held.get("waits", False),
        )

    def _shown(self, change: Change) -> Change:
        """A change without the names of pods and gangs that the person may not read."""
        if "changes" in change:
            return {
                **change,
                "changes": [self._shown(one) for one in change["changes"]],
            }
        pods = change.get("pods")
        named = [*pods] if isinstance(pods, list) else []
        if "pod" in change:
            named = [change["pod"]]
        if change["change"] == "end_gang":
            named = [change["object"].partition("/")[2]]
        if all(self.may_read(_namespace(one)) for one in named):
            is_hidden = change["change"] == "raise_queue_value"
            hides = is_hidden and not self._scope.sees_all  # limits of queues
            return {k: v for k, v in change.items() if not (hides and k == "to")}
        teams = sorted({self._team(_namespace(one)) for one in named})
        shown = {"change": change["change"], "count": len(named), "teams": teams}
        return shown | ({"remains": change["remains"]} if "remains" in change else {})


def _held(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All pods that are named as holders."""
    for found in content["blockers"]:
        yield from found["blockers"]
    yield from content.get("inverted", ())
    yield from content.get("let_in", ())


def _instant(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)


def _numbers(
    cluster: Cluster, waits: Iterable[UnitWait]
) -> Mapping[tuple[str, str, str], int]:
    """The pages of units that wait, and of those that hold what they wait for."""
    names = {wait.name for wait in waits}
    names |= {
        held["unit"].rpartition("/")[2]
        for wait in waits
        for held in _held(wait.content)
    }
    rows = WaitRecord.objects.filter(cluster=cluster, ended_at=None, name__in=names)
    found = rows.values_list("kind", "namespace", "name", "pk")
    return {(kind, namespace, name): number for kind, namespace, name, number in found}


def _namespace(path: str) -> str:
    return path.partition("/")[0]
