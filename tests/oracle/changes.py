"""What themes change in a plan: some of its nodes, its pods."""

from collections.abc import Callable
from dataclasses import replace

from tests.oracle.dice import Dice, flag, number
from tests.oracle.draws import a_pod
from tests.oracle.plans import NodePlan, Plan, PodPlan


def each_node(dice: Dice, plan: Plan, change: Callable[[NodePlan], NodePlan]) -> Plan:
    """A plan with some of its nodes changed, at least one."""
    which = number(dice, 0, len(plan.nodes) - 1)
    nodes = [
        change(node) if n == which or flag(dice) else node
        for n, node in enumerate(plan.nodes)
    ]
    return replace(plan, nodes=tuple(nodes))


def more_pods(plan: Plan, *pods: PodPlan) -> Plan:
    """A plan with pods that come first, so that its GPUs' samples name them."""
    return replace(plan, pods=(*pods, *plan.pods))


def named_pod(dice: Dice, plan: Plan, i: int, name: str) -> PodPlan:
    """A pod that kube-state lists, with a name and a number of its own."""
    pod = a_pod(dice, i, plan.nodes, plan.length)
    return replace(pod, name=name, is_listed=True)


def fitting(plan: Plan) -> Plan:
    """A plan whose pods ask for what their nodes have."""
    pods = [
        replace(pod, resource=kinds[n % len(kinds)])
        for n, pod in enumerate(plan.pods)
        if (kinds := plan.nodes[pod.node].shape.resources)
    ]
    return replace(plan, pods=tuple(pods))
