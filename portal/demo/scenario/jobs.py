"""Jobs whose pods are of use only together, and what is submitted when one ends.

A queue holds some back. The pods of the others are placed one by one, by a scheduler that knows no
gangs: members that are bound hold their GPUs and wait for the rest.
"""

from collections.abc import Callable
from typing import Protocol

from portal.demo.scenario.noise import uuid_of
from portal.demo.scenario.pod import Request, SimulatedJob, SimulatedPod
from portal.demo.scenario.queues import Queues, first_quotas
from portal.demo.scenario.standing import BY_NAME, first_jobs, next_job
from portal.demo.scenario.story import HOUR_S, Story

LOST_WORK = 0.1  # of a run that is interrupted: since its last checkpoint


class JobCluster(Protocol):
    """What jobs need of the engine."""

    story: Story
    now_s: int

    def at(self, at_s: int, act: Callable[..., None], *arguments: object) -> None:
        """Do something at a moment."""

    def ask(self, request: Request) -> None:
        """Create a pod, unless a quota refuses it."""

    def finish(self, pod: SimulatedPod, at_s: int, phase: str) -> None:
        """End a pod."""


class Jobs:
    """The Jobs of a cluster, and their queues."""

    def __init__(self, cluster: JobCluster) -> None:
        self.cluster = cluster
        self._seen: list[SimulatedJob] = []
        self.queues = Queues(first_quotas(cluster.story))
        self._live: dict[tuple[str, str], SimulatedJob] = {}

    def begin(self) -> None:
        """Plan the first jobs."""
        for at_s, requests in first_jobs(self.cluster.story):
            self.cluster.at(at_s, self._submit, requests)

    def follow_up(self, series: tuple[str, int, int]) -> None:
        """Plan the job after one that has ended."""
        at_s, requests = next_job(self.cluster.story, series, self.cluster.now_s)
        self.cluster.at(at_s, self._submit, requests)

    def _submit(self, requests: tuple[Request, ...]) -> None:
        first = requests[0]
        if first.index is None:
            self.cluster.ask(first)
            return
        queue = BY_NAME[first.series[0]].queue if first.series else ""
        now_s = self.cluster.now_s
        uid = uuid_of(0, "controller", first.namespace, "Job", first.owner.name)
        job = SimulatedJob(requests, queue, now_s, first.run_s or 0, uid)
        self._seen.append(job)
        self._live[job.namespace, job.name] = job
        if queue:
            self.queues.add(job)
            self.admit()
        else:
            self._start(job)

    def admit(self) -> None:
        """Let in what fits into the quota of its queue."""
        for job in self.queues.admit(self.cluster.now_s):
            self._start(job)

    def _start(self, job: SimulatedJob) -> None:
        job.admitted_s = self.cluster.now_s
        series = job.requests[0].series
        patience_h = BY_NAME[series[0]].patience_h if series else 0
        patience_s = int(patience_h * HOUR_S)
        self.cluster.at(job.admitted_s + patience_s, self._give_up, job)
        for request in job.requests:
            self.cluster.ask(request)

    def made(self, pod: SimulatedPod) -> None:
        """A pod was created: it may be a member of a Job."""
        if pod.request.index is not None:
            key = pod.request.namespace, pod.request.owner.name
            pod.job = self._live.get(key)
            if pod.job is not None:
                pod.job.pods.append(pod)

    def shown(self, at_s: int) -> list[SimulatedJob]:
        """Jobs that the API server has at a moment."""
        self._seen = [job for job in self._seen if job.is_shown(at_s)]
        return self._seen

    def has_ended(self, request: Request) -> bool:
        """True for a member of a Job that is over: nobody creates it any more."""
        key = request.namespace, request.owner.name
        return request.index is not None and key not in self._live

    def bound(self, pod: SimulatedPod) -> None:
        """A member has its GPUs: with the last one the work begins."""
        job, index = pod.job, pod.request.index
        if job is None or index is None:
            return
        job.members[index] = pod
        if len(job.members) == len(job.requests):
            start_s = max(one.bound_s or 0 for one in job.members.values())
            job.together.append((start_s, None))
            self.cluster.at(start_s + job.left_s, self._done, job, len(job.together))

    def ended(self, pod: SimulatedPod) -> None:
        """A member has lost its GPUs: the others wait for another one."""
        job, index = pod.job, pod.request.index
        if job is None or index is None or job.members.get(index) is not pod:
            return
        del job.members[index]
        if job.is_complete and pod.ended_s is not None:
            start_s = job.together[-1][0]
            end_s = max(start_s, pod.ended_s)
            job.together[-1] = start_s, end_s
            worked_s = int((end_s - start_s) * (1 - LOST_WORK))
            job.left_s = max(600, job.left_s - worked_s)

    def _done(self, job: SimulatedJob, turn: int) -> None:
        """The work is done, unless a member was lost in the meantime."""
        if job.is_complete and len(job.together) == turn:
            self._close(job, "Succeeded")

    def _give_up(self, job: SimulatedJob) -> None:
        """Its owner deletes a job that could not begin for too long."""
        if job.ended_s is None and not job.is_complete:
            self._close(job, "Failed")

    def _close(self, job: SimulatedJob, phase: str) -> None:
        now_s = self.cluster.now_s
        job.ended_s = now_s
        del self._live[job.namespace, job.name]
        for pod in [*job.pods]:
            if pod.ended_s is None:
                self.cluster.finish(pod, now_s, phase if pod.node else "")
        if job.queue:
            self.queues.remove(job)
            self.admit()
        if (series := job.requests[0].series) is not None:
            self.follow_up(series)
