"""Whose samples are read at all (rules.md N40).

A job that names a node, be it in a pod's label, shows that node: else another job could book
pods on every node that is known, and count as a shard.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tests.oracle.kube import NAMING
from tests.oracle.samples import SECOND, Sample
from tests.oracle.setup import Setup

HOUR = 3600 * SECOND
EVER = 2**62
Span = tuple[int, int]  # half-open
Times = Mapping[str, list[int]]  # when each job was sampled, ascending


def read(samples: Iterable[Sample], setup: Setup) -> list[Sample]:
    """The samples of the jobs that the source names; else of kube-state those that count."""
    found = list(samples)
    if setup.jobs:
        return [s for s in found if job_of(s) in setup.jobs]
    kube = sorted((s for s in found if is_kube(s)), key=lambda s: s.at)
    if len({job_of(s) for s in kube}) < 2:
        return found
    spans = counted(kube)
    return [
        s
        for s in found
        if not is_kube(s) or any(a <= s.at < b for a, b in spans[job_of(s)])
    ]


def job_of(sample: Sample) -> str:
    """The job that took a sample; a missing one is a job too."""
    return sample.labels.get("job", "")


def is_kube(sample: Sample) -> bool:
    """True for a sample of kube-state."""
    return sample.name.startswith("kube_")


def counted(kube: list[Sample]) -> dict[str, list[Span]]:
    """When samples of each job count, of samples in order of time."""
    times: dict[str, list[int]] = defaultdict(list)
    for sample in kube:
        times[job_of(sample)].append(sample.at)
    lead = leaders(kube)
    turns = sorted(taken_over(times, lead), key=lambda turn: turn[1])
    known = dict.fromkeys(lead, 0)  # who is known, and since when
    for job, (start, _) in turns:
        known.setdefault(job, start)
    return {
        job: [(0, EVER)]
        if job in lead
        else [
            (0, shared_since(kube, job, known)),
            *(span for other, span in turns if other == job),
        ]
        for job in times
    }


def leaders(kube: list[Sample]) -> set[str]:
    """The jobs that showed nodes in the first hour; all of that hour where none did."""
    early = [s for s in kube if s.at < kube[0].at + HOUR]
    nodes = {job_of(s) for s in early if s.name.startswith("kube_node_")}
    return nodes or {job_of(s) for s in early}


def shown_by(sample: Sample) -> Iterator[str]:
    """The objects that a sample shows."""
    labels = sample.labels
    if labels.get("uid"):
        yield f"pod {labels['uid']}"
    is_own = sample.name.startswith("kube_node_") or sample.name in NAMING
    if labels.get("node") and is_own:  # else Prometheus added it
        yield f"node {labels['node']}"


def shared_since(kube: list[Sample], job: str, known: Mapping[str, int]) -> int:
    """When a job first showed what another one that counts knows: no shard from then on."""
    first: dict[str, dict[str, int]] = defaultdict(dict)
    for sample in kube:
        for name in shown_by(sample):
            first[job_of(sample)].setdefault(name, sample.at)
    return min(
        (
            max(at, first[other][name], since)
            for other, since in known.items()
            if other != job
            for name, at in first[job].items()
            if name in first[other]
        ),
        default=EVER,
    )


# --- after an hour of silence --------------------------------------------------------


def taken_over(times: Times, lead: set[str]) -> Iterator[tuple[str, Span]]:
    """Who takes over from those that lead, and until when.

    Once for each silence: no fleet has a job that falls silent after it took over while a
    third one is there.
    """
    mine = sorted(at for job in lead for at in times[job])
    for end, back in pairwise([*mine, EVER]):
        begin = end + HOUR
        if begin >= back:
            continue
        free = {
            job: found
            for job in sorted(times.keys() - lead)
            if (found := [t for t in times[job] if t < back])
            and not beside(found, [t for t in mine if t <= end])
        }
        there = [job for job, found in free.items() if goes_on(found, begin)]
        if not there:
            firsts = {
                job: min(later)
                for job, found in free.items()
                if (later := [t for t in found if t > begin])
            }
            begin = min(firsts.values(), default=back)
            there = [job for job, at in firsts.items() if at == begin]
        yield from ((job, (begin, back)) for job in there)


def goes_on(times: list[int], at: int) -> bool:
    """True where a job is sampled up to a time and not silent for an hour around it."""
    before = [t for t in times if t <= at]
    after = [t for t in times if t > at]
    return bool(before) and (
        at - before[-1] < HOUR or (bool(after) and after[0] - before[-1] <= HOUR)
    )


def beside(times: list[int], others: list[int]) -> bool:
    """True where a stretch without an hour of silence meets one of others."""
    return any(
        a <= d and c <= b for a, b in stretches(times) for c, d in stretches(others)
    )


def stretches(times: list[int]) -> list[Span]:
    """First and last times, with no more than an hour between any two in them."""
    found: list[Span] = []
    for at in times:
        if found and at - found[-1][1] <= HOUR:
            found[-1] = (found[-1][0], at)
        else:
            found.append((at, at))
    return found
