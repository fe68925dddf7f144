"""The activity of a pod's GPUs at given moments: utilization, memory and power.

All three are functions of the pod and the time, so samples every five minutes and samples every
thirty seconds show the same machine.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from portal.demo.scenario.habits import BY_SERVICE, Times, service_utilization
from portal.demo.scenario.hardware import GpuModel
from portal.demo.scenario.noise import noise
from portal.demo.scenario.pod import Seat, SimulatedPod, WorkloadType
from portal.demo.scenario.story import DAY_S, HOUR_S, LOCAL_OFFSET_S, Story

Values = NDArray[np.float64]
MINUTE_S = 60
CELL_S = 20 * MINUTE_S  # people run cells for this long, or do not
START_UP_S = 150  # loading image and data, warming up: held but not busy
STRAY_UTILIZATION = 0.9  # of a process outside Kubernetes
PEAK_POWER = 0.86  # of the range from idle to the limit, at full utilization
SPINNER = "farid"  # a user whose notebook runs a busy loop
_INTENSITY = {
    WorkloadType.TRAINING: {"sm": 0.86, "tensor": 0.48, "dram": 0.44},
    WorkloadType.INFERENCE: {"sm": 0.58, "tensor": 0.24, "dram": 0.36},
    WorkloadType.NOTEBOOK: {"sm": 0.52, "tensor": 0.12, "dram": 0.22},
    WorkloadType.BATCH: {"sm": 0.74, "tensor": 0.36, "dram": 0.48},
}
_THURSDAY = 3


def utilization(story: Story, pod: SimulatedPod, unit: int, times_s: Times) -> Values:
    """Utilization of one unit of a pod, 0 to 1.

    Args:
        story: the scenario.
        pod: bound; `times_s` are in its hold.
        unit: index among its node's units.
        times_s: Unix seconds.
    """
    key = pod.key ^ unit
    jitter = noise(key, times_s // 30) - 0.5
    kind = pod.request.kind
    if kind == WorkloadType.NOTEBOOK:
        return _notebook(pod, times_s, jitter)
    if kind == WorkloadType.INFERENCE:
        above = pod.request.owner.above
        service = BY_SERVICE[above[1] if above else ""]
        level = service_utilization(story, service, times_s)
        found: Values = np.clip(level * (1 + 0.5 * jitter), 0, 1)
        return found
    if pod.request.image or _is_unused(pod, unit):
        return np.zeros(len(times_s))
    if pod.job is None and not pod.request.tail_s:
        return _run(pod, times_s - (pod.bound_s or 0), jitter)
    total: Values = np.zeros(len(times_s))
    for start_s, end_s in working(pod):
        inside = (times_s >= start_s) & (times_s < end_s)
        if inside.any():
            total[inside] = _run(pod, times_s[inside] - start_s, jitter[inside])
    return total


def working(pod: SimulatedPod) -> Sequence[tuple[int, float]]:
    """When the process of a job works: from its bind, or while all members are bound.

    Each entry is a start and an end in seconds; infinity while it is not known.
    """
    request = pod.request
    if pod.job is not None:
        return [
            (start_s, np.inf if end_s is None else end_s)
            for start_s, end_s in pod.job.together
        ]
    start_s = pod.bound_s or 0
    end_s = np.inf
    if request.tail_s and request.run_s is not None:
        end_s = start_s + max(request.run_s // 2, request.run_s - request.tail_s)
    return [(start_s, end_s)]


def _is_unused(pod: SimulatedPod, unit: int) -> bool:
    """True for the last units of a pod that never uses them."""
    used = max(1, len(pod.units) - pod.request.unused)
    return unit in pod.units[used:]


def _run(pod: SimulatedPod, age: Times, jitter: Values) -> Values:
    """A job: busy, with pauses for evaluation and checkpoints.

    Args:
        age: seconds since its work began.
    """
    period = 40 * MINUTE_S + pod.key % (70 * MINUTE_S)
    pause = 3 * MINUTE_S + pod.key % (4 * MINUTE_S)
    is_paused = (age % period) > (period - pause)
    level = np.where(is_paused, 0.08, pod.request.utilization + 0.12 * jitter)
    return np.where(age < START_UP_S, 0.0, np.clip(level, 0, 1))


def _notebook(pod: SimulatedPod, times_s: Times, jitter: Values) -> Values:
    """A notebook: sometimes a cell runs; at night, almost never."""
    local = times_s + LOCAL_OFFSET_S
    hours = local % DAY_S / HOUR_S
    is_workday = (local // DAY_S + _THURSDAY) % 7 < 5
    is_working = is_workday & (hours > 9) & (hours < 18.5)
    likely = np.where(is_working, 0.5, 0.04)
    if pod.request.tier:  # deleted when idle, and on a smaller GPU
        likely = np.where(is_working, 0.8, 0.1)
    runs = noise(pod.key, times_s // CELL_S) < likely
    return np.where(runs, np.clip(pod.request.utilization + 0.5 * jitter, 0.02, 1), 0.0)


def memory_mib(
    pod: SimulatedPod | None, model: GpuModel, times_s: Times
) -> NDArray[np.int64]:
    """Used framebuffer memory, in MiB."""
    if pod is None:
        return np.zeros(len(times_s), np.int64)
    wobble = np.floor(noise(pod.key + 1, times_s // 600) * 8).astype(np.int64) * 64
    ceiling = model.memory_mib - 512
    return np.minimum(ceiling, int(model.memory_mib * pod.memory_share) + wobble)


def intensity(what: str, pod: SimulatedPod | None, busy: Values) -> Values:
    """Activity of a busy unit, 0 to 1: its SMs, tensor cores, memory.

    A busy loop keeps the engine active without using the latter two.
    """
    if pod is None:
        return busy * 0.0
    usual = _INTENSITY[pod.request.kind][what]
    if pod.request.person == SPINNER:
        usual = 0.02 if what == "sm" else 0.0
    own = 0.75 + 0.5 * (pod.key % 101) / 100
    found: Values = np.clip(busy * usual * own, 0, 1)
    return found


def energy_joules(
    model: GpuModel, joined_s: int, seats: Sequence[Seat], times_s: Times
) -> Values:
    """The energy counter of a GPU since its node joined; never decreases.

    Pods draw their mean power, so that the counter at a moment depends on the holders and
    durations.
    """
    span = (model.max_watts - model.idle_watts) * PEAK_POWER
    total: Values = model.idle_watts * (times_s - joined_s).astype(float)
    for seat in seats:
        for pod in seat.pods:
            bound = pod.bound_s or 0
            end = np.inf if pod.ended_s is None else pod.ended_s
            if pod.request.image:
                continue  # nothing runs
            for start, stop in working(pod) if pod.job else [(bound, np.inf)]:
                last = np.minimum(times_s, min(end, stop))
                worked = np.clip(last - max(bound, start), 0, None)
                total = (
                    total + span * seat.unit.share * pod.request.utilization * worked
                )
    return total


def power_watts(model: GpuModel, busy: Values) -> Values:
    """Board power at a utilization."""
    return model.idle_watts + (model.max_watts - model.idle_watts) * PEAK_POWER * busy
