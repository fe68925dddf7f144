"""Which share of a part of a GPU counts: compute, memory, or the dominant one.

Compute shares determine which pod has which part. Then each part of a divided GPU has the weight
of the policy that is valid at the time, divided over its holders in proportion; the share that the
parts leave unused is stranded. A whole GPU and its replicas have the same weight in every policy.
Source: traps T12 and T13; docs/decisions/0013.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import itemgetter

from accounting.metering.rules.units.geometry import GpuPart, Instances
from accounting.metering.rules.units.gpu_units import share_of
from accounting.metering.rules.units.mig_profiles import Policy, ProfileShape, weights

Policies = Sequence[tuple[int, Policy]]  # since when (ms), ascending
Factors = Mapping[GpuPart, Fraction]


def policy_at(policies: Policies, at_ms: int) -> Policy:
    """The policy at an instant; compute before the first."""
    i = bisect_right(policies, at_ms, key=itemgetter(0))
    return policies[i - 1][1] if i else Policy.COMPUTE


def memory_of(uuid: str, instances: Instances, model: str) -> dict[GpuPart, Fraction]:
    """The memory share of each part of a divided GPU; empty for a whole one."""
    found: dict[GpuPart, Fraction] = {}
    for number, kind in instances:
        share = share_of(kind, model) if kind else None
        if share is not None:
            found[GpuPart(uuid, number, kind)] = share[1]
    return found


def factors_of(
    compute: Mapping[GpuPart, Fraction],
    memory: Mapping[GpuPart, Fraction],
    policy: Policy,
) -> dict[GpuPart, Fraction]:
    """The factors from the compute share of each part of one GPU to its weight.

    Args:
        compute, memory: shares of the parts of a divided GPU.
        policy: the policy that applies.
    """
    if policy is Policy.COMPUTE or not memory:
        return {}
    shapes = [ProfileShape(compute[part], memory[part], 1) for part in memory]
    raw = weights(shapes, policy)
    total = max(Fraction(1), sum(raw, Fraction(0)))  # more than a GPU: no driver allows
    return {
        part: weight / total / compute[part]
        for part, weight in zip(memory, raw, strict=True)
    }
