"""Checks of computed windows and of the responses of their sources."""

from collections.abc import Iterable

from accounting.core.issue import Issue
from accounting.metering.rules.holds.gpu_location import misplaced
from accounting.metering.rules.holds.node_capacity import beyond_capacity
from accounting.metering.rules.inventory.merge.places import names_of, other_names
from accounting.metering.rules.samples.gpu_errors import conditions, duplicate_measures
from accounting.metering.tasks.data_issues.events import WindowsComputed


def attributed(event: WindowsComputed) -> Iterable[Issue]:
    """Findings of attribution: values, shares, more holders than GPUs."""
    return (issue for ledger in event.ledgers for issue in ledger.issues)


def answers(event: WindowsComputed) -> Iterable[Issue]:
    """Faults of sources and their samples.

    At stake of an incomplete response is the unknown time in its windows, counted once.
    """
    missed_ms = sum(ledger.missed_ms for ledger in event.ledgers)
    warned: set[str] = set()
    for reading in event.readings:
        for code, subject, message in reading.notes:
            is_first = code == "source_warning" and subject not in warned
            if is_first:
                warned.add(subject)
            yield Issue(
                code,
                subject,
                message,
                event.period.start_ms,
                event.period.end_ms,
                at_stake_ms=missed_ms if is_first else 0,
            )


def gpu_errors(event: WindowsComputed) -> Iterable[Issue]:
    """Errors that GPUs reported."""
    return conditions(event.readings, event.period)


def metrics_twice(event: WindowsComputed) -> Iterable[Issue]:
    """One measure under two names."""
    return duplicate_measures(event.readings, event.period)


def holds(event: WindowsComputed) -> Iterable[Issue]:
    """Pods whose GPUs cannot be determined."""
    return event.state.derived.issues


def misplaced_gpus(event: WindowsComputed) -> Iterable[Issue]:
    """GPUs on two nodes, or on none that kube-state shows."""
    parts = event.state.derived.seen
    seen = any(part.intersection(event.period) for part in parts)
    names = names_of(event.readings)
    return misplaced(event.state.inventory, event.period, is_seen=seen, names=names)


def hostnames(event: WindowsComputed) -> Iterable[Issue]:
    """Exporters that call a node by another name."""
    return other_names(event.readings, event.period)


def more_than_capacity(event: WindowsComputed) -> Iterable[Issue]:
    """More GPUs than the capacity of a node."""
    state = event.state
    return beyond_capacity(state.inventory, state.derived.presences, event.period)


def kube_state_jobs(event: WindowsComputed) -> Iterable[Issue]:
    """Jobs of kube-state other than those that count."""
    return event.state.issues
