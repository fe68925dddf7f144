"""A day of a cluster as OpenMetrics text: GPUs of nodes, and the jobs that hold them.

Written scrape by scrape: memory does not grow with the time. Fixed seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

START_S = 1_790_812_800  # 1 October 2026, 00:00 UTC
GPUS_A_NODE = 8
SIZES = (1, 1, 1, 2, 4, 8)  # GPUs of a job; each job fits into one node
EMPTY_SHARE = 0.1  # of the slots in which no job starts
SHOWN_FOR_S = 300  # how long kube-state still shows a job after its end


@dataclass(frozen=True, slots=True)
class Job:
    """A pod on GPUs `first` to `first + units` of a node, in [start_s, end_s)."""

    number: int
    node: int
    first: int
    units: int
    start_s: int
    end_s: int

    @property
    def name(self) -> str:
        """The pod's name."""
        return f"train-{self.number}-0"

    @property
    def namespace(self) -> str:
        """The namespace, one of 200."""
        return f"team-{self.number % 200}"


@dataclass(slots=True)
class Fleet:
    """A cluster's metrics from START_S on; jobs start and end on a grid of `grid_s`."""

    gpus: int
    hours: int
    step_s: int = 30
    kube_step_s: int = 60
    grid_s: int = 1
    seed: int = 5

    def jobs(self) -> list[Job]:
        """Every job: GPUs of a node are used again as they become free."""
        random = np.random.default_rng(self.seed)
        end_s = START_S + self.hours * 3600
        found: list[Job] = []
        for node in range(self.gpus // GPUS_A_NODE):
            first = 0
            while first < GPUS_A_NODE:
                units = min(int(random.choice(SIZES)), GPUS_A_NODE - first)
                at = START_S - int(random.integers(0, 10_000))
                while at < end_s:
                    at -= at % self.grid_s
                    until = at + int(random.integers(1800, 30_000))
                    until -= until % self.grid_s
                    if until > START_S and random.random() > EMPTY_SHARE:
                        found.append(Job(len(found), node, first, units, at, until))
                    at = until + int(random.integers(20, 900))
                first += units
        return found

    def write(self, folder: Path) -> list[Path]:
        """Write one file for each hour."""
        jobs = self.jobs()
        paths = [folder / f"hour-{hour:02d}.om" for hour in range(self.hours)]
        for hour, path in enumerate(paths):
            self._write(jobs, [hour], path)
        return paths

    def write_one(self, path: Path) -> None:
        """All hours in one file."""
        self._write(self.jobs(), range(self.hours), path)

    def _write(self, jobs: list[Job], hours: Sequence[int], path: Path) -> None:
        with path.open("wb") as file:
            for hour in hours:
                for chunk in self._scrapes(jobs, START_S + hour * 3600):
                    file.write(chunk)
            file.write(b"# EOF\n")

    def _scrapes(self, jobs: list[Job], hour_s: int) -> Iterator[bytes]:
        random = np.random.default_rng(self.seed + hour_s)
        here = [
            job
            for job in jobs
            if job.start_s < hour_s + 3600 and job.end_s + SHOWN_FOR_S > hour_s
        ]
        changes = sorted(
            {
                at
                for job in here
                for at in (job.start_s, job.end_s, job.end_s + SHOWN_FOR_S)
            }
        )
        heads: list[str] = []
        kube: list[str] = []
        until = hour_s
        for at in range(hour_s, hour_s + 3600, self.step_s):
            if at >= until:
                heads = self._gpu_heads(here, at)
                kube = self._kube_lines(here, at)
                until = next((c for c in changes if c > at), hour_s + 3600)
            utilization = random.random(self.gpus).round(4)
            utilization[::3] = 0.0  # idle ones
            yield "".join(
                [
                    f"{h} {v} {at}\n"
                    for h, v in zip(heads, utilization.tolist(), strict=True)
                ]
            ).encode()
            if at % self.kube_step_s == 0:
                yield "".join([f"{line} {at}\n" for line in kube]).encode()

    def _gpu_heads(self, jobs: list[Job], at: int) -> list[str]:
        holder: dict[int, Job] = {}
        for job in jobs:
            if job.start_s <= at < job.end_s:
                for n in range(job.first, job.first + job.units):
                    holder[job.node * GPUS_A_NODE + n] = job
        return [self._gpu_head(gpu, holder.get(gpu)) for gpu in range(self.gpus)]

    def _gpu_head(self, gpu: int, job: Job | None) -> str:
        node = gpu // GPUS_A_NODE
        named = (
            f',exported_namespace="{job.namespace}",exported_pod="{job.name}",'
            'exported_container="main"'
            if job
            else ""
        )
        return (
            f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="{gpu % GPUS_A_NODE}",'
            f'UUID="GPU-{gpu:08d}",Hostname="node-{node}",instance="node-{node}:9400",'
            f'job="dcgm",modelName="NVIDIA A100-SXM4-80GB"{named}}}'
        )

    def _kube_lines(self, jobs: list[Job], at: int) -> list[str]:
        own = 'job="kube-state-metrics",instance="ksm:8080"'
        lines = [
            f'kube_node_status_capacity{{node="node-{node}",resource="nvidia_com_gpu",'
            f'unit="integer",{own}}} {GPUS_A_NODE}'
            for node in range(self.gpus // GPUS_A_NODE)
        ]
        for job in jobs:
            if not job.start_s <= at < job.end_s + SHOWN_FOR_S:
                continue
            key = f'namespace="{job.namespace}",pod="{job.name}",uid="uid-{job.number}"'
            where = f'node="node-{job.node}"'
            asked = f'container="main",{where},resource="nvidia_com_gpu",unit="integer"'
            lines.extend(
                (
                    f"kube_pod_info{{{key},{where},{own}}} 1",
                    f"kube_pod_container_resource_requests{{{key},{asked},{own}}} {job.units}",
                    f"kube_pod_status_scheduled_time{{{key},{own}}} {job.start_s}",
                )
            )
            if at >= job.end_s:
                lines.extend(
                    (
                        f'kube_pod_status_phase{{{key},phase="Succeeded",{own}}} 1',
                        f"kube_pod_completion_time{{{key},{own}}} {job.end_s}",
                    )
                )
        return lines
