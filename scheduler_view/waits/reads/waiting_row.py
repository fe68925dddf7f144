"""A row of work that waits: why, who holds what it needs, and what would let it start."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from accounting.kit.rows import TextOrNull, column, listed, member
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


def _in_utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
