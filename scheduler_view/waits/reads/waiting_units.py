"""Work that waits, why, who holds what it needs, and what would let it start.

As last explained from the objects of a cluster, else from metrics alone. Of pods of teams that the
person may not read, only the team, the tier and the amounts are shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from accounting.access.reads.teams import known_teams
from accounting.access.scope import Scope
from accounting.core.read_once import read_together
from accounting.core.unmapped import UNMAPPED
from accounting.kit.rows import TextOrNull, column, listed, member
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.clusters.models import METRIC_WAITS, WAITS, ObservationRun
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.waits.reads.holder_costs import hourly_costs
from scheduler_view.waits.rules.cause import PreemptionOutcome, Stage, WaitCause
from scheduler_view.waits.rules.details import details_of

LONGEST_GAP = timedelta(minutes=11)  # of two observations, as for pools (S16)
Change = Mapping[str, Any]


@listed("HolderRow")
class HolderRow:
    """One pod that holds what waiting work needs.

    Attributes:
        pod, unit: empty if the person may not read its team.
        units: of `resource`.
        is_own: a replica of the waiting unit.
        since: since when it has held them; None if unknown.
        idle_since: None if they are in use, or that is not known.
        number: of the page of its unit; None if it has none, or may not be read.
        cost_per_hour: what its GPUs cost; None without a price, or if its team may not be read.
        ending_since: when it was deleted, if it should have ended by now; else None.
        finalizers: that keep such a pod.
        waits: it is on no node; a quota counts it since it was created.
    """

    team: str = column("`unmapped` for usage without a team")
    pod: str = column("empty for teams that you may not read")
    unit: str = column("its work, as Kind/namespace/name")
    resource: str = column()
    units: int = column()
    priority_class: str = column()
    is_own: bool = column("a replica of the waiting work")
    since: datetime | None = column()
    idle_since: datetime | None = column(
        "null if they are in use, or that is not known", default=None
    )
    cost_per_hour: Decimal | None = column(
        "of its GPUs; null without a price, and for teams that you may not read",
        default=None,
    )
    currency: TextOrNull = column("of `cost_per_hour`", default="")
    ending_since: datetime | None = column(
        "when it was deleted, if it should have ended by now; else null", default=None
    )
    finalizers: Sequence[str] = column("that keep such a pod", default=())
    waits: bool = column(
        "it is on no node, and waits too; a quota counts it since it was created",
        default=False,
    )
    number: int | None = None


@listed("Report")
class Report:
    """The words of one object or event."""

    about: str = column("such as `Pod/lab/train-0`")
    text: str = column()
    at: datetime | None = column()


@listed("WaitingUnitRow")
class WaitingUnitRow:
    """One work unit that waits, as last explained.

    Attributes:
        kind, name: such as Job, Deployment or Pod.
        since: when it was created; None if unknown.
        cluster_queue: that keeps it back; empty if none does, or it is not known.
        cohort: whose queues have what it lacks; empty if that is its own queue.
        let_in: what that queue, or that cohort, let in and holds GPUs: work, not pods.
        facts: names and numbers that belong to the cause, for `wording` and `details`.
        free: GPUs that are free, where one constraint of it excludes them.
        seen_at: as of when.
        number: of its page; None before its wait was recorded.
    """

    cluster: str = column()
    team: str = column("`unmapped` for usage without a team")
    namespace: str = column()
    kind: str = column("Job, Deployment, PodGroup, Pod, ...")
    name: str = column()
    requested: Mapping[str, int] = column("units of one pod by resource")
    pods_wanted: int = column()
    pods_bound: int = column("pods on a node")
    pods_waiting: int = column("including pods that were not created")
    priority_class: str = column()
    since: datetime | None = column()
    stage: str = column(choices=[one.value for one in Stage])
    cause: str = column(choices=[one.value for one in WaitCause])

    @member("names and numbers that belong to the cause, as sentences")
    def details(self) -> list[str]:
        """What belongs to the cause in sentences, with instants in UTC."""
        return details_of(self.cause, self.facts, _in_utc)

    cause_since: datetime = column("when it was first observed to wait for this cause")
    contributing: list[str] = column("other causes, on other nodes or pods")
    overlays: list[str] = column()
    preemption: str = column(choices=[one.value for one in PreemptionOutcome])
    holders: list[list[HolderRow]] = column(
        "sets of pods; if all pods of one set end, a waiting pod fits"
    )
    starts_if: list[Change] = column(
        "changes that are each enough, tried on the observed objects"
    )
    not_enough: list[Change] = column(
        "changes that are not enough alone, with what `remains` after each"
    )
    message: str = column("message of the scheduler or the API server")
    reports: Sequence[Report] = column(
        "all words that support the cause; `message` is the first", default=()
    )
    seen_at: datetime | None = column(default=None)
    is_from_metrics: bool = column(
        "explained from kube-state-metrics alone: `holders`, `starts_if` and `preemption`"
        " are not known, and `other` is any cause that metrics do not show",
        name="from_metrics",
        default=False,
    )
    lower: Sequence[HolderRow] = column(
        "pods of lower priority that alone hold enough (`priority_inversion`)",
        name="lower_holders",
        default=(),
    )
    number: int | None = None
    free: Sequence[Change] = ()
    cluster_queue: str = ""
    cohort: str = ""
    let_in: Sequence[HolderRow] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def queue_values(self) -> list[Change]:
        """Changes of a value of a queue that a change set can make, alone or with others."""
        found: list[Change] = []
        for one in (*self.starts_if, *self.not_enough):
            for change in one.get("changes", [one]):
                is_meant = change["change"] == "raise_queue_value" and "to" in change
                known = {k: v for k, v in change.items() if k != "remains"}
                if is_meant and known not in found:
                    found.append(known)
        return found

    @property
    def is_each_holder_enough(self) -> bool:
        """True if no set of holders was tried and is not enough, because more keeps the work."""
        return not any(
            one["change"] in ("end_pod", "end_pods") for one in self.not_enough
        )

    @property
    def is_cause_later(self) -> bool:
        """Whether it was not seen from its begin that it waits for this."""
        return self.since is None or self.cause_since - self.since > LONGEST_GAP


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


def _in_utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"


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
