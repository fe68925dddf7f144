"""Changes that would let work start, as short texts for pages and commands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scheduler_view.clusters.rules.quota_key import LIMITS, resource_of
from scheduler_view.clusters.rules.wording import counted, listed
from scheduler_view.waits.rules.wording import amount_text, queue_text

Change = Mapping[str, Any]
LONGEST_RETRY_MS = 360_000  # of the scheduler; controllers take longer


def change_text(change: Change) -> str:
    """What would let a unit start, as a sentence without a period."""
    if change["change"] == "together":
        return listed([change_text(one) for one in change["changes"]], ", and ")
    write = _CHANGES.get(change["change"])
    return write(change) if write is not None else str(change["change"])


def free_behind_text(free: Change) -> str:
    """What is free although one constraint of the work excludes it, in sentences."""
    models = " or ".join(one for one in free["models"] if one)
    gpus = f"{free['units']} GPU{'' if free['units'] == 1 else 's'}"
    verb = "is" if free["units"] == 1 else "are"
    of_model = f" ({models})" if models else ""
    return (
        f"{gpus}{of_model} {verb} free on {counted(free['nodes'], 'node')} that "
        f"{_EXCLUDES[free['change']](free)}"
    )


_EXCLUDES: Mapping[str, Callable[[Change], str]] = {
    "drop_selector": lambda c: (
        f"its node selector {c['key']} excludes: drop it to use them"
    ),
    "drop_affinity": lambda c: (
        f"its node affinity on {c['key']} excludes: drop it to use them"
    ),
    "tolerate": lambda c: (
        f"{'has' if c['nodes'] == 1 else 'have'} "
        f"{_taint(c).removeprefix('it tolerates ')}: tolerate it to use them"
    ),
}


def _ended(change: Change) -> str:
    if "count" in change:
        teams = listed(change["teams"])
        is_one = change["count"] == 1
        return f"a pod of {teams} ends" if is_one else f"pods of {teams} end"
    pods = change.get("pods") or [change.get("pod", "")]
    stuck = change.get("stuck") or {}
    waiting = [pod for pod in pods if pod in change.get("waiting", ())]
    live = [pod for pod in pods if pod not in stuck and pod not in waiting]
    parts = [f"{_pods(live)} {'ends' if len(live) == 1 else 'end'}"] if live else []
    if waiting:
        verb = "is" if len(waiting) == 1 else "are"
        parts.append(f"{_pods(waiting)}, which {verb} also pending, {verb} deleted")
    parts += [_stuck(pod, stuck[pod]) for pod in pods if pod in stuck]
    return listed(parts, ", and ")


def _pods(paths: Sequence[str]) -> str:
    return f"the pod{'' if len(paths) == 1 else 's'} {listed(paths)}"


def _claim_freed(change: Change) -> str:
    claim, pods = change["claim"], change["pods"]
    if not pods:
        return f"the claim {claim} is allocated again"
    verb = "ends" if len(pods) == 1 else "end"
    return f"{_pods(pods)} {verb}, so that the claim {claim} is allocated again"


def _no_capital(by: str) -> str:
    return by.replace("The ", "the ")


def _stuck(pod: str, finalizers: Sequence[str]) -> str:
    """A pod that was deleted and does not go: to delete it again is of no use."""
    if not finalizers:
        return f"{_pods([pod])}, which is terminating, is force-deleted"
    noun = "finalizer" if len(finalizers) == 1 else "finalizers"
    return (
        f"{_pods([pod])}, which is terminating, loses its {noun} {listed(finalizers)}"
    )


def _a_pod(change: Change, unnamed: str) -> str:
    return _pods([change["pod"]]) if change.get("pod") else unnamed


def _gang(change: Change) -> str:
    if "object" not in change:
        return f"a gang of {listed(change['teams'])} ends"
    return f"{_object(change['object'])} ends"


def _object(subject: str) -> str:
    """`the Job lab/train`."""
    return "the " + subject.replace("/", " ", 1)


def _request(change: Change) -> str:
    if "units" in change:
        return f"each pod requests {counted(change['units'], 'GPU')}"
    return f"each pod requests {change['to']} of {change['resource']}"


def _at_least(change: Change) -> str:
    whose = (
        "each pod requests" if change["type"] == "Pod" else "each container requests"
    )
    return f"{whose} at least {change['to']} of {change['resource']}"


def _limit(change: Change) -> str:
    whose = "each pod has" if change["type"] == "Pod" else "each container has"
    return f"{whose} a limit of at most {change['to']} of {change['resource']}"


def _added(change: Change) -> str:
    if change.get("key", "").startswith(LIMITS):
        return f"its containers have a limit of {change['resource']}"
    return f"its containers request {change['resource']}"


def _quota(change: Change) -> str:
    raised = f"the quota {change['quota']} is raised to {change['to']}"
    key = change.get("key", "")
    is_other = key and resource_of(key) is None
    return f"{raised} for {key}" if is_other else raised


def _range(change: Change) -> str:
    name = f"the LimitRange {change['name']}" if change["name"] else "its LimitRange"
    of = f" of {change['resource']}" if change.get("resource") else ""
    if change.get("limit") == "ratio":
        return f"{name} allows a limit that is {change['to']} times the request{of}"
    word = "as little as " if change.get("limit") == "min" else ""
    return f"{name} allows {word}{change['to']}{of}"


def _lower(change: Change) -> str:
    return _of_class(change, "lower") if change.get("name") else _WITHOUT_CLASS


_WITHOUT_CLASS = "it has no priority class"


def _of_class(change: Change, word: str) -> str:
    name = change.get("name")
    class_ = f"the {word} priority class {name}" if name else f"a {word} priority class"
    return f"it has {class_}"


def _wait(change: Change) -> str:
    if change["at_most_ms"] > LONGEST_RETRY_MS:
        return "its controller tries again, within 20 minutes"
    return "the scheduler tries again, within six minutes"


def _taint(change: Change) -> str:
    taint = change["taint"]
    value = f"={taint['value']}" if taint["value"] else ""
    return f"it tolerates the taint {taint['key']}{value}:{taint['effect']}"


def _node(change: Change) -> str:
    labels = change.get("labels") or {}
    named = listed([f"{key}={value}" for key, value in sorted(labels.items())] or [""])
    count = change.get("nodes", 1)
    has = [counted(change["units"], "free GPU")] if change.get("units") else []
    if change.get("resource") and has:
        has = [f"{change['units']} of {change['resource']}"]
    has += [f"{to} of {name}" for name, to in sorted(change.get("also", {}).items())]
    what = f" with {listed(has)}" if has else ""
    nodes = "a node" if count == 1 else f"{count} nodes"
    each = " each" if count > 1 and has else ""
    verb = "is" if count == 1 else "are"
    return f"{nodes}{' of ' + named if named else ''}{what}{each} {verb} added"


def _become_free(units: int) -> str:
    return f"{counted(units, 'GPU')} {'becomes' if units == 1 else 'become'} free"


def _have_ended(pods: int) -> str:
    return f"{counted(pods, 'terminating pod')} {'is' if pods == 1 else 'are'} gone"


def _labels(change: Change) -> str:
    named = listed([f"{k}={v}" for k, v in sorted(change["labels"].items())])
    return f"a pod with {named} starts"


def _let_in_ends(change: Change) -> str:
    kind = "cohort" if change.get("object", "").startswith("Cohort/") else "queue"
    work = f"work in the {kind} {change['queue']} ends"
    if not change.get("units"):
        return f"enough {work}"
    amount = amount_text(change["units"], change["resource"])
    return f"enough {work} to free {amount}"


def _queue_raised(change: Change) -> str:
    part, _, name = change["field"].rpartition("/")
    where = f" of {part}" if part != "gpu" else ""
    kind = "ClusterQueue" if change["object"] == "ClusterQueue" else "queue"
    more = amount_text(change["more"], change["resource"])
    to = f", to {change['to']}" if "to" in change else ""
    return f"the {name}{where} in the {kind} {change['queue']} is raised by {more}{to}"


def _container_runs(change: Change) -> str:
    kind, name = change["container_kind"], change["container"]
    if kind == "init":
        return f"its init container {name} ends without a failure"
    noun = "sidecar container" if kind == "sidecar" else "container"
    return f"its {noun} {name} runs without a failure"


def _retried(change: Change) -> str:
    when = " within 10 minutes of the failure" if "at_most_ms" in change else ""
    kind = change["object"].partition("/")[0]
    return f"the {kind} creates new pods{when}, and they do not fail"


_CHANGES: Mapping[str, Callable[[Change], str]] = {
    "end_pod": _ended,
    "end_pods": _ended,
    "end_gang": _gang,
    "move_pod": lambda c: f"{_a_pod(c, 'a pod')} moves to another node",
    "delete_pod": lambda c: f"{_a_pod(c, 'the pod')} is deleted and recreated",
    "uncordon": lambda c: f"the node {c['node']} is uncordoned",
    "repair_node": lambda c: f"the node {c['node']} is ready again",
    "wait_for_node": lambda c: (
        f"the node that {_no_capital(c['by'])} is adding is ready"
    ),
    "raise_node_pool": lambda c: (
        f"the limits of the NodePool {c['node_pool']} are raised"
    ),
    "finish_setup": lambda c: (
        f"the node {c['node']} is set up and loses the taint {c['taint']}"
    ),
    "repair_plugin": lambda c: f"the device plugin of {c['node']} reports its GPUs",
    "repair_gpus": lambda c: f"the GPUs of {c['node']} are repaired",
    "tolerate": _taint,
    "drop_selector": lambda c: f"the node selector {c['key']} is dropped",
    "drop_affinity": lambda c: f"the node affinity on {c['key']} is dropped",
    "shrink_request": _request,
    "change_request": lambda c: f"it requests {c['resource']} instead",
    "change_geometry": lambda c: f"a GPU is partitioned into {c['resource']}",
    "change_claim_selector": lambda c: "the selector of its claim matches a device",
    "add_gpus": lambda c: f"{_become_free(c['units'])} on a matching node",
    "add_node": _node,
    "add_request": _added,
    "grow_request": _at_least,
    "set_limit": _limit,
    "scale_down": lambda c: f"it is scaled down to {c['to']}",
    "allow_unavailable": lambda c: (
        f"its rollout allows {counted(c['to'], 'unavailable pod')}"
    ),
    "allow_preemption": lambda c: "its priority class may preempt",
    "raise_tier": lambda c: _of_class(c, "higher"),
    "lower_tier": _lower,
    "raise_quota": _quota,
    "raise_limit_range": _range,
    "create_priority_class": lambda c: f"the priority class {c['name']} is created",
    "create_claim": lambda c: f"the volume claim {c['name']} is created",
    "create_resource_claim": lambda c: f"the resource claim {c['name']} is created",
    "create_claim_template": lambda c: f"the claim template {c['name']} is created",
    "create_device_class": lambda c: f"the device class {c['name']} is created",
    "publish_devices": lambda c: f"a driver publishes devices of {c['device_class']}",
    "free_claim": _claim_freed,
    "provide_volume": lambda c: f"a volume for {c['name']} is provided",
    "move_volume": lambda c: f"the volume of {c['name']} moves to another zone",
    "relax_spread": lambda c: f"its spread over {c['key']} is relaxed",
    "start_pod": _labels,
    "queue_admits": lambda c: f"the queue {c['queue']} has quota for it".replace(
        "  ", " "
    ),
    "end_let_in": _let_in_ends,
    "raise_queue": lambda c: (
        f"the quota of the queue {c['queue']} is raised, or more may be borrowed"
    ),
    "raise_queue_value": _queue_raised,
    "shrink_total": lambda c: (
        f"it requests at most {amount_text(c['to'], c['resource'])} in total"
    ),
    "change_queue": lambda c: f"it names the queue {c['queue']}, which exists",
    "create_queue": lambda c: f"{queue_text(c['object'])} is created",
    "resume_queue": lambda c: f"{queue_text(c['object'])} is resumed",
    "repair_queue": lambda c: f"{queue_text(c['object'])} is active again",
    "allow_namespace": lambda c: (
        f"{queue_text(c['object'])} serves the namespace {c['namespace']}"
    ),
    "activate": lambda c: (
        f"the Workload {c['object'].partition('/')[2]} is activated again (spec.active)"
    ),
    "pass_check": lambda c: f"the admission check {c['check']} passes",
    "resume": lambda c: f"{_object(c['object'])} is resumed",
    "remove_gate": lambda c: f"the gate {c['gate']} is removed",
    "start_scheduler": lambda c: f"the scheduler {c['scheduler']} runs",
    "wait_for_end": lambda c: _have_ended(c["pods"]),
    "wait": _wait,
    "repair_container": _container_runs,
    "wait_for_init": lambda c: f"its init container {c['container']} ends",
    "retry_failed": _retried,
    "repair_image": lambda c: "its image can be pulled",
    "repair_config": lambda c: "the configuration of its containers is corrected",
}
CHANGE_KINDS = frozenset(_CHANGES) | {"together"}
