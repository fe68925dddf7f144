"""When people and controllers request GPUs, and how many.

Requests depend on the seed and the calendar only; `engine` determines whether and when they get
their GPUs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from portal.demo.scenario.noise import code_of, random_of
from portal.demo.scenario.organization import (
    NIGHTLIES,
    PEOPLE,
    SERVICES,
    TRAINERS,
    Employee,
    Nightly,
    Service,
    Trainer,
)
from portal.demo.scenario.pod import Controller, Request, WorkloadType
from portal.demo.scenario.story import (
    DAY_S,
    HOUR_S,
    LOCAL_OFFSET_S,
    Story,
    day_start,
    is_workday,
    local_day,
)

Times = NDArray[np.int64]  # Unix seconds
Timed = tuple[int, Request]  # time of the request
TRAINING_UTILIZATION = (0.64, 0.8)  # before and after the change
BATCH_UTILIZATION = (0.7, 0.84)
NOTEBOOK_UTILIZATION = (0.4, 0.6)  # while a cell runs
SERVICE_TARGET = 0.6  # target utilization of the autoscaler
GROWTH = 1.6  # load of services after the change
UNUSED_SHARE, TAIL_SHARE = 0.04, 0.08  # of training jobs
_THURSDAY = 3  # weekday of 1 January 1970
LONGEST_RUN_S = 4 * DAY_S
AUTOSCALE_S = HOUR_S // 2  # how often a service is scaled to its load


def scaled(number: float, story: Story) -> int:
    """A number of the full-size demo, scaled to the scenario's size, at least one."""
    return max(1, round(number * story.scale))


def _chance_of(mean: float, chance: Random) -> int:
    """A Poisson number."""
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def _spread(mean: float, chance: Random) -> float:
    return min(0.97, max(0.05, chance.gauss(mean, 0.08)))


def training(story: Story, day: int) -> Iterator[Timed]:
    """Jobs that people start on a day, most of them in working hours."""
    for trainer in TRAINERS:
        chance = random_of(story.seed, trainer.namespace, trainer.project, day)
        is_reformed = story.is_reformed(day_start(day))
        mean = trainer.after if is_reformed else trainer.before
        mean *= story.scale * (1.15 if is_workday(day) else 0.35)
        for number in range(_chance_of(mean, chance)):
            hour = min(23.9, max(0.0, chance.gauss(14, 3.4)))
            at = day_start(day) + int(hour * HOUR_S)
            yield at, _job(story, trainer, day, number, chance)


def _job(
    story: Story, trainer: Trainer, day: int, number: int, chance: Random
) -> Request:
    is_reformed = story.is_reformed(day_start(day))
    job = f"{trainer.project}-{code_of(5, story.seed, trainer.project, day, number)}"
    run_s = int(trainer.hours * HOUR_S * chance.lognormvariate(0, 0.8))
    if is_reformed:  # the same work on GPUs that are used better
        run_s = int(run_s * TRAINING_UTILIZATION[0] / TRAINING_UTILIZATION[1])
    unused, tail_s = _flaws(story, job)
    return Request(
        namespace=trainer.namespace,
        name=f"{job}-{code_of(5, story.seed, job, day)}",
        serial=f"{day}/{number}",
        kind=WorkloadType.TRAINING,
        owner=Controller("Job", job),
        gpus=chance.choice(trainer.sizes),
        pools=trainer.pools_after if is_reformed else trainer.pools_before,
        person=chance.choice(people_of(trainer.namespace)),
        tier="training" if is_reformed else "",
        utilization=_spread(TRAINING_UTILIZATION[is_reformed], chance),
        run_s=min(LONGEST_RUN_S, max(600, run_s)),
        unused=unused if is_reformed else 0,
        tail_s=tail_s if is_reformed else 0,
    )


def _flaws(story: Story, job: str) -> tuple[int, int]:
    """Of some jobs: GPUs that they never use; seconds until their process exits when it is done."""
    chance = random_of(story.seed, "flaws", job)
    unused = int(chance.random() < UNUSED_SHARE)
    tail_s = int(chance.uniform(25, 90) * 60) if chance.random() < TAIL_SHARE else 0
    return unused, tail_s


def people_of(namespace: str) -> list[str]:
    """The people of a namespace: its own, else those of related ones."""
    stem = namespace.partition("-")[0]
    names = [p.name for p in PEOPLE if p.namespace.partition("-")[0] == stem]
    return names or ["platform"]


def nightlies(story: Story, day: int) -> Iterator[Timed]:
    """Pods of the CronJobs that start on a day."""
    for nightly in NIGHTLIES:
        chance = random_of(story.seed, nightly.namespace, nightly.name, day)
        at = day_start(day) + nightly.hour * HOUR_S
        for index in range(scaled(nightly.pods, story)):
            yield at, _nightly_pod(story, nightly, day, index, at, chance)


def _nightly_pod(
    story: Story, nightly: Nightly, day: int, index: int, at: int, chance: Random
) -> Request:
    is_reformed = story.is_reformed(at)
    job = f"{nightly.name}-{at // 60}"
    run_s = nightly.minutes * 60 * chance.lognormvariate(0, 0.2)
    return Request(
        namespace=nightly.namespace,
        name=f"{job}-{index}-{code_of(5, story.seed, job, index)}",
        serial=str(index),
        kind=WorkloadType.BATCH,
        owner=Controller("Job", job, ("CronJob", nightly.name)),
        gpus=1,
        pools=nightly.after if is_reformed else nightly.before,
        person="",
        tier="scavenger" if is_reformed else "",
        utilization=_spread(BATCH_UTILIZATION[is_reformed], chance),
        run_s=int(run_s * (0.8 if is_reformed else 1)),
    )


@dataclass(slots=True)
class Notebooks:
    """People start notebooks in the morning and leave them running, until idle ones are deleted."""

    story: Story
    busy_until: dict[str, int] = field(default_factory=dict)

    def day(self, day: int) -> Iterator[Timed]:
        """Notebooks that people start on a day."""
        count = scaled(len(PEOPLE), self.story)
        for person in [*PEOPLE[:: max(1, len(PEOPLE) // count)], PEOPLE[-1]]:
            chance = random_of(self.story.seed, "notebook", person.name, day)
            at = day_start(day) + int(chance.uniform(8.2, 10.8) * HOUR_S)
            wants = chance.random() < (0.85 if is_workday(day) else 0.06)
            if not wants or self.busy_until.get(person.name, 0) > at:
                continue
            stop = self._stop(at, chance)
            self.busy_until[person.name] = stop
            yield at, self._request(person, day, at, stop, chance)

    def _stop(self, at: int, chance: Random) -> int:
        evening = day_start(local_day(at)) + int(chance.uniform(16.5, 19.5) * HOUR_S)
        if self.story.is_reformed(at):
            return evening - chance.choice((0, 0, 3, 5)) * HOUR_S
        days = chance.choice((0, 1, 2, 3, 4, 6, 7, 9, 11, 14))
        culled = self.story.change_s + int(chance.uniform(10, 22) * HOUR_S)
        return min(evening + days * DAY_S, max(culled, evening))

    def _request(
        self, person: Employee, day: int, at: int, stop: int, chance: Random
    ) -> Request:
        is_reformed = self.story.is_reformed(at)
        name = f"jupyter-{person.name}"
        return Request(
            namespace=person.namespace,
            name=f"{name}-0",
            serial=str(day),
            kind=WorkloadType.NOTEBOOK,
            owner=Controller("StatefulSet", name),
            gpus=1 if is_reformed else chance.choice((1, 1, 1, 2)),
            pools=(person.fitting if is_reformed else person.whole_gpu,),
            person=person.name,
            tier="interactive" if is_reformed else "",
            utilization=_spread(NOTEBOOK_UTILIZATION[is_reformed], chance),
            stop_s=stop,
        )


def day_curve(times_s: Times) -> NDArray[np.float64]:
    """Load of a service relative to its busiest hour, 0 to 1."""
    local = times_s + LOCAL_OFFSET_S
    hours = local % DAY_S / HOUR_S
    wave = 0.5 - 0.5 * np.cos((hours - 3.5) / 24 * 2 * math.pi)
    is_weekend = (local // DAY_S + _THURSDAY) % 7 >= 5
    curve: NDArray[np.float64] = (0.22 + 0.78 * wave) * np.where(is_weekend, 0.72, 1.0)
    return curve


def replicas(story: Story, service: Service, times_s: Times) -> NDArray[np.int64]:
    """The number of pods that a service wants at moments."""
    before = scaled(service.before[1], story)
    most = scaled(service.after[1], story)
    ticks = times_s - times_s % AUTOSCALE_S
    work = before * service.load * GROWTH * day_curve(ticks)
    after = np.clip(np.ceil(work / SERVICE_TARGET), 1, most)
    return np.where(ticks >= story.change_s, after, before).astype(np.int64)


def service_utilization(
    story: Story, service: Service, times_s: Times
) -> NDArray[np.float64]:
    """Utilization of each replica: the load divided by the number of replicas."""
    work = scaled(service.before[1], story) * service.load * day_curve(times_s)
    work = work * np.where(times_s >= story.change_s, GROWTH, 1.0)
    utilization: NDArray[np.float64] = np.minimum(
        0.95, work / replicas(story, service, times_s)
    )
    return utilization


def service_pod(story: Story, service: Service, at_s: int, number: int) -> Request:
    """The request of one replica."""
    is_reformed = story.is_reformed(at_s)
    owner = f"{service.name}-{code_of(9, story.seed, service.name, is_reformed)}"
    return Request(
        namespace=service.namespace,
        name=f"{owner}-{code_of(5, story.seed, owner, number)}",
        serial=str(number),
        kind=WorkloadType.INFERENCE,
        owner=Controller("ReplicaSet", owner, ("Deployment", service.name)),
        gpus=1,
        pools=(service.after if is_reformed else service.before)[:1],
        person="",
        tier="serving" if is_reformed else "",
        utilization=service.load,
    )


BY_SERVICE = {service.name: service for service in SERVICES}
