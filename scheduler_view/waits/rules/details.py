"""What belongs to a cause, as short sentences: names, numbers and instants (scheduling.md S4)."""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_view.clusters.rules.wording import counted, listed
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.number_wording import numbers_text
from scheduler_view.waits.rules.wording import amount_text, queue_text

Facts = Mapping[str, Any]
At = Callable[[int], str]
"""An instant in milliseconds as a text, in the zone of the reader."""


def details_of(cause: str, facts: Facts, at: At) -> list[str]:
    """Sentences with a period that a page shows below the cause; none if nothing is known.

    Args:
        facts: of the explanation, as stored.
        at: writes an instant.
    """
    write = _BY_CAUSE.get(cause)
    first = write(facts, at) if write is not None else ""
    numbers = numbers_text(cause, facts)
    first = first or (f"{numbers}." if numbers else "")
    found = [first] if first else []
    if "autoscaler" in facts:
        found.append(_autoscaler(facts["autoscaler"], at))
    for name, of_node in _OF_NODES.items():
        found += [of_node(one) for one in facts.get(name, ())]
    return found


def _container(facts: Facts) -> str:
    noun = {"init": "init container", "sidecar": "sidecar container"}
    return f"{noun.get(facts['container_kind'], 'container')} {facts['container']}"


def _holds(facts: Facts) -> str:
    return f" It holds {counted(facts['holds'], 'GPU')}." if facts.get("holds") else ""


def _crash_loop(facts: Facts, at: At) -> str:
    if "container" not in facts:
        return ""
    how = ""
    if "exit_code" in facts:
        reason = f" ({facts['exit_reason']})" if facts.get("exit_reason") else ""
        how = f" with exit code {facts['exit_code']}{reason}"
    times = counted(facts.get("restarts", 0), "time")
    fails = f"The {_container(facts)} fails{how} and was restarted {times}."
    return fails + _holds(facts)


def _init_container(facts: Facts, at: At) -> str:
    if facts.get("running_ms") is None:
        return ""
    since = at(facts["running_ms"])
    return f"The {_container(facts)} has run since {since}.{_holds(facts)}"


def _of_container(facts: Facts, at: At) -> str:
    if "container" not in facts:
        return ""
    return f"This is the {_container(facts)}.{_holds(facts)}"


def _back_off(facts: Facts, at: At) -> str:
    if "failed" not in facts:
        return ""
    kind, _, path = facts["maker"].partition("/")
    limit = facts.get("backoff_limit")
    ends = f"; the {kind} ends after {limit + 1} failures" if limit is not None else ""
    last = f", last at {at(facts['failed_ms'])}" if facts.get("failed_ms") else ""
    return f"{counted(facts['failed'], 'pod')} of {path} failed{last}{ends}."


def _queue_limit(facts: Facts, at: At) -> str:
    limit = facts.get("limit")
    if not limit:
        return ""
    asked = amount_text(limit["requested"], limit["resource"])
    flavor = f" of the flavor {limit['flavor']}" if limit.get("flavor") else ""
    queue = queue_text(limit["queue"]) if "queue" in limit else "its queue"
    return f"It requests {asked}; {queue} may have at most {limit['most']}{flavor}."


def _queue(facts: Facts, at: At) -> str:
    limit = facts.get("limit")
    if not limit:
        return ""
    asked = amount_text(limit["requested"], limit["resource"])
    flavor = f" of the flavor {limit['flavor']}" if limit.get("flavor") else ""
    queue = queue_text(limit["queue"])
    return f"It requests {asked}; {limit['more']} more{flavor} must be free in {queue}."


def _queue_missing(facts: Facts, at: At) -> str:
    return f"Not found: {_of(facts)}." if "object" in facts else ""


def _queue_stopped(facts: Facts, at: At) -> str:
    if "object" not in facts:
        return ""
    if "namespace" in facts:
        return f"It does not serve the namespace {facts['namespace']}: {_of(facts)}."
    if "inactive" in facts:
        return f"It is not active, {facts['inactive']}: {_of(facts)}."
    policy = f" ({facts['policy']})" if facts.get("policy") else ""
    return f"It is stopped{policy}: {_of(facts)}."


def _of(facts: Facts) -> str:
    return queue_text(facts["object"])


def _queue_check(facts: Facts, at: At) -> str:
    if "check" not in facts:
        return ""
    return f"The admission check {facts['check']} is {facts['state'].lower()}."


def _autoscaler(one: Facts, at: At) -> str:
    by = one["by"]
    pool, claim = one.get("node_pool"), one.get("node_claim")
    if pool:
        reached = "; ".join(
            f"{name} {used} of {most}"
            for name, (used, most) in one.get("limits", {}).items()
        )
        used = f" ({reached})" if reached else ""
        return f"{by} adds no node: the NodePool {pool} has reached its limits{used}."
    if one["verdict"] == "refuses":
        for_claim = f": {claim} got no capacity" if claim else ""
        return f"{by} adds no node{for_claim}."
    step = f", which is not {one['step'].lower()} yet" if one.get("step") else ""
    named = f" {claim}{step}" if claim else ""
    return f"{by} has been adding a node{named} since {at(one['at_ms'])}."


def _silent_node(one: Facts) -> str:
    gpus = counted(one["gpus"], "GPU") if one.get("gpus") else "GPUs"
    return (
        f"The labels of {one['node']} show {gpus}, but its device plugin reports none."
    )


def _setup_node(one: Facts) -> str:
    state = "is being removed" if one["is_leaving"] else "is not set up yet"
    return f"{one['node']} {state}: it has the taint {one['taint']}."


def _drain(one: Facts) -> str:
    budget = one["budget"]
    named = (
        f"the disruption budget {budget}" if budget else "the budget of another team"
    )
    return (
        f"{one['node']} is cordoned, and {named} allows no eviction of "
        f"{counted(one['pods'], 'pod')} there."
    )


def _zero(one: Facts) -> str:
    waits = "waits" if one["pods"] == 1 else "wait"
    whose = f" of {one['namespace']}" if one["namespace"] else " of another team"
    taint = (
        f", whose taint {one['taint']} they do not tolerate" if "taint" in one else ""
    )
    return (
        f"{counted(one['pods'], 'pod')}{whose} that request 0 GPUs {waits} for "
        f"{one['node']}{taint}."
    )


def note_text(note: Facts) -> str:
    """A note of a node (`node_notes.notes_of_cluster`) as a sentence."""
    return _OF_NODES[note["kind"]](note)


_OF_NODES: Mapping[str, Callable[[Facts], str]] = {
    "silent_nodes": _silent_node,
    "setup_nodes": _setup_node,
    "drains": _drain,
    "zero_pods": _zero,
}


def _claim_elsewhere(facts: Facts, at: At) -> str:
    nodes = facts.get("claim_nodes")
    if nodes is None:
        return ""
    if not nodes:
        return f"The claim {facts['claim']} is allocated on a node that is gone."
    return f"The claim {facts['claim']} is allocated on {listed(nodes)}."


_BY_CAUSE: Mapping[str, Callable[[Facts, At], str]] = {
    WaitCause.CRASH_LOOP.value: _crash_loop,
    WaitCause.INIT_CONTAINER.value: _init_container,
    WaitCause.IMAGE_PULL.value: _of_container,
    WaitCause.CONTAINER_CONFIG.value: _of_container,
    WaitCause.BACK_OFF.value: _back_off,
    WaitCause.CLAIM_ELSEWHERE.value: _claim_elsewhere,
    WaitCause.QUEUE.value: _queue,
    WaitCause.QUEUE_CHECK.value: _queue_check,
    WaitCause.QUEUE_LIMIT.value: _queue_limit,
    WaitCause.QUEUE_STOPPED.value: _queue_stopped,
    WaitCause.QUEUE_MISSING.value: _queue_missing,
}
