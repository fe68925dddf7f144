"""A team's quota, divided over its namespaces by a rule that people can check."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from accounting.core.rounding import largest_remainder
from scheduler_view.clusters.rules.wording import few


class SplitRule(StrEnum):
    """How a team's quota is divided."""

    EVENLY = "evenly"
    BY_USE = "by_use"
    WEIGHTS = "weights"
    LISTED = "listed"  # by weights; namespaces without one have no quota


class SplitRefused(ValueError):
    """A quota that cannot be divided by the rule."""


def divide(
    gpus: int,
    namespaces: Sequence[str],
    rule: SplitRule,
    given: Mapping[str, int] | None = None,
) -> tuple[dict[str, int], str]:
    """Whole GPUs for each namespace, whose sum is `gpus`, and the rule as text.

    Args:
        gpus: the team's quota.
        namespaces: of the team in one cluster.
        rule: of the division.
        given: by namespace: weights for WEIGHTS and LISTED; for BY_USE the maximum that each
            held in the last 30 days.

    Raises:
        SplitRefused: no namespace, a negative weight, or a weight for a namespace that is
            not the team's.
    """
    names = sorted(set(namespaces))
    if not names:
        raise SplitRefused(
            "the team has no namespace in this cluster; map a namespace to it first"
        )
    weights, message = _weights(names, rule, given or {})
    if rule == SplitRule.LISTED:
        names = [name for name in names if name in weights]
    if len(names) == 1:
        return {names[0]: gpus}, f"all to {names[0]}"
    whole = sum(weights.values())
    parts = largest_remainder(
        [(name, gpus * weights[name]) for name in names], whole, gpus
    )
    return parts, message


def _weights(
    names: Sequence[str], rule: SplitRule, given: Mapping[str, int]
) -> tuple[dict[str, int], str]:
    even = dict.fromkeys(names, 1)
    if rule == SplitRule.BY_USE:
        used = {name: given.get(name, 0) for name in names}
        if not any(used.values()):
            return even, "evenly, because none of them held a GPU in 30 days"
        shown = few([f"{name} {peak}" for name, peak in used.items()])
        return used, f"by peak use in 30 days ({shown})"
    if rule in (SplitRule.WEIGHTS, SplitRule.LISTED):
        foreign = sorted(set(given) - set(names))
        if foreign:
            raise SplitRefused(f"{', '.join(foreign)}: not a namespace of this team")
        if rule == SplitRule.LISTED:
            return _listed(names, given)
        if min(given.values(), default=0) < 0 or not any(given.values()):
            raise SplitRefused(
                "weights must be 0 or more, and at least one must be greater than 0"
            )
        weights = {name: given.get(name, 0) for name in names}
        shown = few([f"{name} {weight}" for name, weight in weights.items()])
        return weights, f"by weights ({shown})"
    return even, f"evenly over {len(names)} namespaces"


def _listed(
    names: Sequence[str], weights: Mapping[str, int]
) -> tuple[dict[str, int], str]:
    """Weights of the listed namespaces: evenly if all are 0, as after adopting quotas of 0."""
    given = {name: weights[name] for name in names if name in weights}
    if not given or min(given.values()) < 0:
        raise SplitRefused(
            "weights must be 0 or more and name at least one namespace with a quota"
        )
    if not any(given.values()):
        given = dict.fromkeys(given, 1)
    shown = few([f"{name} {weight}" for name, weight in given.items()])
    left = few([name for name in names if name not in given])
    return given, f"by weights ({shown})" + (f", none to {left}" if left else "")
