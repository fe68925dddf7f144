"""Kueue in the simulated cluster: it lets a Job in when there is quota for all its pods.

Queues of one cohort lend each other what they do not use. Nothing is preempted by Kueue.
"""

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from portal.demo.scenario.noise import key_of
from portal.demo.scenario.pod import SimulatedJob
from portal.demo.scenario.story import Story

COHORT = "research"
FLAVOR, FLAVOR_POOL = "h100", "h100"


@dataclass(frozen=True, slots=True)
class ClusterQueueSpec:
    """One ClusterQueue and the namespace whose LocalQueue uses it.

    Attributes:
        nominal: GPUs of the full-size demo.
        borrowing: what it may borrow from the cohort.
    """

    name: str
    namespace: str
    local: str
    nominal: int
    borrowing: int


CLUSTER_QUEUES = (
    ClusterQueueSpec("language-h100", "lm-train", "pretrain", 16, 8),
    ClusterQueueSpec("vision-h100", "vision-train", "large", 16, 0),
)


@dataclass(frozen=True, slots=True)
class QueueQuota:
    """Quota of a ClusterQueue, in GPUs."""

    nominal: int
    borrowing: int


def first_quotas(story: Story) -> dict[str, QueueQuota]:
    """Quotas of the scenario by ClusterQueue: at least one small job each."""
    return {
        one.name: QueueQuota(
            max(4, round(one.nominal * story.scale)), round(one.borrowing * story.scale)
        )
        for one in CLUSTER_QUEUES
    }


@dataclass(slots=True)
class Queues:
    """The Jobs of each ClusterQueue.

    Attributes:
        waiting: oldest first.
        admitted: until they end.
    """

    quotas: Mapping[str, QueueQuota]
    waiting: dict[str, list[tuple[int, int, SimulatedJob]]] = field(
        default_factory=dict
    )
    admitted: dict[str, list[SimulatedJob]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in CLUSTER_QUEUES:
            self.waiting.setdefault(one.name, [])
            self.admitted.setdefault(one.name, [])

    def add(self, job: SimulatedJob) -> None:
        """A Job is submitted to its LocalQueue."""
        entry = job.created_s, key_of(job.uid), job
        insort(self.waiting[queue_of(job).name], entry)

    def remove(self, job: SimulatedJob) -> None:
        """A Job has ended."""
        name = queue_of(job).name
        self.admitted[name] = [one for one in self.admitted[name] if one is not job]
        self.waiting[name] = [one for one in self.waiting[name] if one[2] is not job]

    def used(self, name: str) -> int:
        """GPUs of the admitted Jobs of a queue."""
        return sum(job.gpus for job in self.admitted[name])

    def lacks(self, job: SimulatedJob) -> int:
        """GPUs of quota that a Job lacks; 0 if it fits."""
        name = queue_of(job).name
        quota, used = self.quotas[name], self.used(name)
        own = quota.nominal + quota.borrowing - used
        cohort = sum(one.nominal for one in self.quotas.values())
        left = cohort - sum(self.used(one.name) for one in CLUSTER_QUEUES)
        return max(0, job.gpus - min(own, left))

    def admit(self, now_s: int) -> list[SimulatedJob]:
        """Let in what fits, oldest first; what does not fit is passed over."""
        entries = sorted(
            (entry for line in self.waiting.values() for entry in line),
            key=lambda entry: entry[:2],
        )
        found = []
        for _, _, job in entries:
            if not self.lacks(job):
                name = queue_of(job).name
                self.waiting[name] = [e for e in self.waiting[name] if e[2] is not job]
                self.admitted[name].append(job)
                job.admitted_s = now_s
                found.append(job)
        return found


def queue_of(job: SimulatedJob) -> ClusterQueueSpec:
    """The ClusterQueue of a Job's LocalQueue."""
    return next(
        one
        for one in CLUSTER_QUEUES
        if (one.namespace, one.local) == (job.namespace, job.queue)
    )
