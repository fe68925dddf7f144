"""Work that is there at any hour since the change: when one job ends, the next one is submitted.

More of it than the GPUs or quotas that it may use, so that something always waits: behind a queue,
for a whole node, as a gang with some of its members, below a tier that does not preempt, or for a
quota.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from portal.demo.scenario.fleet import pools_of
from portal.demo.scenario.habits import (
    BATCH_UTILIZATION,
    TRAINING_UTILIZATION,
    people_of,
    scaled,
)
from portal.demo.scenario.noise import code_of, random_of
from portal.demo.scenario.pod import Controller, Request, WorkloadType
from portal.demo.scenario.story import HOUR_S, Story, day_start, local_day

MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """Jobs of one kind.

    Attributes:
        pools: the preferred one first.
        gpus: of each pod.
        pods: of each job; they are of use only together.
        hours: median length of a run.
        in_flight: jobs that run or wait at any time.
        queue: the LocalQueue of its jobs; empty: none.
        limit: the label `max-duration`.
        patience_h: after how many hours an incomplete job is given up.
    """

    name: str
    namespace: str
    pools: tuple[str, ...]
    gpus: int
    pods: int
    hours: float
    in_flight: int
    tier: str = "training"
    queue: str = ""
    limit: str = ""
    patience_h: float = 36


JOBS = (
    Standing("pretrain", "lm-train", ("h100",), 8, 2, 18, 2, queue="pretrain"),
    Standing("instruct", "lm-train", ("h100",), 8, 1, 7, 2, queue="pretrain"),
    Standing("video-model", "vision-train", ("h100",), 8, 2, 12, 2, queue="large"),
    Standing("render-scenes", "vision-train", ("a100-40-spot",), 8, 1, 2, 1),
    Standing("mine-tracks", "vision-train", ("a10g-spot",), 4, 2, 5, 1, patience_h=9),
    Standing("rollouts", "robotics-sim", ("a10g-spot",), 4, 2, 6, 1, patience_h=9),
    Standing("policy-eval", "robotics-sim", ("t4",), 4, 1, 2, 1, patience_h=20),
)
ARRAYS = (  # one pod a job: each is of use alone
    Standing("backtest", "forecast", ("t4",), 2, 1, 9, 8, "scavenger", limit="12h"),
    Standing(
        "label-images", "vision-train", ("t4",), 1, 1, 6, 8, "scavenger", limit="8h"
    ),
    Standing("ablation", "search-lab", ("l4",), 1, 1, 3, 5, "scavenger"),
    Standing("embed-frames", "vision-lab", ("l4-shared",), 1, 1, 10, 7, "scavenger"),
)
BY_NAME = {one.name: one for one in (*JOBS, *ARRAYS)}


def first_jobs(story: Story) -> Iterator[tuple[int, tuple[Request, ...]]]:
    """The first job of each slot: when, and its members."""
    for standing in (*JOBS, *ARRAYS):
        for slot in range(scaled(standing.in_flight, story)):
            chance = random_of(story.seed, "first", standing.name, slot)
            at_s = story.change_s + int(chance.uniform(8, 20) * HOUR_S)
            yield at_s, members(story, standing, slot, 0, at_s)


def next_job(
    story: Story, series: tuple[str, int, int], now_s: int
) -> tuple[int, tuple[Request, ...]]:
    """The job that follows when one has ended: when, and its members."""
    name, slot, number = series
    standing = BY_NAME[name]
    chance = random_of(story.seed, "next", name, slot, number)
    longest = 15 if standing in ARRAYS else 35  # minutes
    pause_s = int(chance.uniform(1, longest) * MINUTE_S)
    at_s = now_s + pause_s
    return at_s, members(story, standing, slot, number + 1, at_s)


def members(
    story: Story, standing: Standing, slot: int, number: int, at_s: int
) -> tuple[Request, ...]:
    """The pods of a job that is submitted at a moment."""
    chance = random_of(story.seed, standing.name, slot, number)
    day = local_day(at_s)
    is_array = standing in ARRAYS
    code = (
        code_of(5, story.seed, standing.name, day)
        if is_array
        else code_of(5, story.seed, standing.name, slot, number)
    )
    job = f"{standing.name}-{code}"
    pools, gpus, pods = _fitting(story, standing)
    usual = BATCH_UTILIZATION if standing.tier == "scavenger" else TRAINING_UTILIZATION
    request = Request(
        namespace=standing.namespace,
        name="",
        serial=f"{slot}/{number}",
        kind=WorkloadType.TRAINING if standing.queue else WorkloadType.BATCH,
        owner=Controller("Job", job),
        gpus=gpus,
        pools=pools,
        person=chance.choice(people_of(standing.namespace)),
        tier=standing.tier,
        utilization=usual[1],
        run_s=max(1200, int(standing.hours * HOUR_S * chance.lognormvariate(0, 0.4))),
        series=(standing.name, slot, number),
        limit=standing.limit,
    )
    if is_array:
        return (replace(request, name=f"{job}-{code_of(5, job, slot, number)}"),)
    return tuple(
        replace(
            request,
            name=f"{job}-{index}-{code_of(5, job, index)}",
            serial=f"{slot}/{number}/{index}",
            index=index,
        )
        for index in range(pods)
    )


def _fitting(story: Story, standing: Standing) -> tuple[tuple[str, ...], int, int]:
    """Its pools, GPUs and pods in a fleet that may be small."""
    by_name = {pool.name: pool for pool in pools_of(story)}
    gpus, pods, pools = standing.gpus, standing.pods, []
    for name in standing.pools:
        whole = by_name.get(name.removesuffix("-spot"))
        if whole is not None:  # its units are whole GPUs
            gpus, pods = min(gpus, whole.gpus), min(pods, whole.nodes)
        has_spot = whole is None or whole.spot_nodes
        pools.append(name if has_spot else name.removesuffix("-spot"))
    return tuple(pools), gpus, pods


@dataclass(frozen=True, slots=True)
class Mistake:
    """Work of a day that cannot start as it was written, until its owner gives up.

    Attributes:
        hour: local, of every day.
        hours: until it is deleted.
        image: that does not exist.
        model: that the cluster does not have.
    """

    name: str
    hour: float
    hours: float
    image: str = ""
    model: str = ""


NEWCOMER, NEWCOMER_POOL = "hackathon", "a6000"
MISTAKES = (
    Mistake("style-transfer", 10, 23, image="registry.example.com/style:lates"),
    Mistake("big-finetune", 11, 23, model="NVIDIA-H200"),
    Mistake("render", 18.5, 14),  # while its only node is cordoned
)


def mistakes(story: Story, day: int) -> Iterator[tuple[int, Request]]:
    """What newcomers submit on a day."""
    for one in MISTAKES if story.is_reformed(day_start(day)) else ():
        at_s = day_start(day) + int(one.hour * HOUR_S)
        job = f"{one.name}-{code_of(5, story.seed, one.name, day)}"
        yield (
            at_s,
            Request(
                namespace=NEWCOMER,
                name=f"{job}-{code_of(5, story.seed, job)}",
                serial=str(day),
                kind=WorkloadType.BATCH,
                owner=Controller("Job", job),
                gpus=1,
                pools=(NEWCOMER_POOL,),
                person="maja",
                tier="training",
                utilization=TRAINING_UTILIZATION[1],
                stop_s=at_s + int(one.hours * HOUR_S),
                image=one.image,
                model=one.model,
            ),
        )


@dataclass(frozen=True, slots=True)
class Canary:
    """A CronJob that must start at once, once an hour."""

    name: str
    namespace: str
    pool: str
    minute: int
    run_s: int


CANARY = Canary("score-canary", "fraud", "t4", 25, 12 * MINUTE_S)


def canaries(story: Story, day: int) -> Iterator[tuple[int, Request]]:
    """The pods of a day: of the tier of services, which preempts."""
    for hour in range(24):
        at_s = day_start(day) + hour * HOUR_S + CANARY.minute * MINUTE_S
        if not story.is_reformed(at_s):
            continue
        job = f"{CANARY.name}-{at_s // 60}"
        yield (
            at_s,
            Request(
                namespace=CANARY.namespace,
                name=f"{job}-{code_of(5, story.seed, job)}",
                serial=str(at_s),
                kind=WorkloadType.BATCH,
                owner=Controller("Job", job, ("CronJob", CANARY.name)),
                gpus=1,
                pools=(CANARY.pool,),
                person="",
                tier="serving",
                utilization=BATCH_UTILIZATION[1],
                run_s=CANARY.run_s,
                stop_s=at_s + 50 * MINUTE_S,
            ),
        )


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Nodes that are cordoned one after another, one a day.

    Attributes:
        pool: whose nodes take turns.
        hour: local, at which it is cordoned.
        hours: until it is uncordoned.
    """

    pool: str
    hour: float
    hours: float


MAINTENANCE = (Maintenance("t4", 7, 20), Maintenance("a6000", 18, 14))


def cordons(story: Story, day: int) -> Iterator[tuple[str, int, int]]:
    """The places that are cordoned on a day: place, start, end."""
    counts = {pool.name: pool.nodes for pool in pools_of(story)}
    for one in MAINTENANCE if story.is_reformed(day_start(day)) else ():
        start_s = day_start(day) + int(one.hour * HOUR_S)
        place = f"{one.pool}-{day % counts[one.pool] + 1:02}"
        yield place, start_s, start_s + int(one.hours * HOUR_S)
