"""How each rule finds its causes now, and when it would have fired in the past."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from accounting.access.rights import ADMINISTRATION, ALERTS, Right
from scheduler_view.alerts.reads.causes import data, gpus, idle, money, waits
from scheduler_view.alerts.rules.catalogue import AlertRule, Limits
from scheduler_view.alerts.rules.cause import AlertCause, Firing

Find = Callable[[Limits, datetime], Iterable[AlertCause]]
Past = Callable[[Iterable[int], datetime, datetime], Iterable[Firing]]


@dataclass(frozen=True, slots=True)
class RuleWatch:
    """What a rule reads.

    Attributes:
        find: causes above their thresholds at a moment.
        past: when it would have fired with each of some thresholds, from one moment to another.
        route: of the page to which its button leads.
        right: to use that page.
        reads: text and page of the button of who has not that right.
        is_seen: whether its metric was in the data since a moment, None if that is not known;
            None if it needs no metric.
    """

    find: Find
    past: Past
    route: str
    is_seen: Callable[[datetime], bool | None] | None = None
    right: Right = ALERTS
    reads: tuple[str, str] = ("See the alerts", "alerts")


def _of_errors(errors: gpus.Errors) -> RuleWatch:
    return RuleWatch(errors.causes, errors.past, "gpu", errors.is_seen)


WATCHES: Mapping[AlertRule, RuleWatch] = {
    AlertRule.IDLE: RuleWatch(idle.idle_causes, idle.idle_past, "idle-ask"),
    AlertRule.BUDGET: RuleWatch(money.budget_causes, money.budget_past, "budget"),
    AlertRule.WAIT: RuleWatch(waits.wait_causes, waits.wait_past, "queue-unit"),
    AlertRule.SPEND: RuleWatch(money.spend_causes, money.spend_past, "anomalies"),
    AlertRule.WASTE: RuleWatch(money.waste_causes, money.waste_past, "waste"),
    AlertRule.GROWTH: RuleWatch(
        gpus.growth_causes, gpus.growth_past, "team-family", gpus.is_memory_seen
    ),
    AlertRule.NAMESPACE: RuleWatch(
        data.namespace_causes,
        data.namespace_past,
        "binding-add",
        right=ADMINISTRATION,
        reads=("See namespaces", "attribution"),
    ),
    AlertRule.DRIFT: RuleWatch(data.drift_causes, data.drift_past, "quotas"),
    AlertRule.LATE: RuleWatch(data.late_causes, data.late_past, "data-health"),
    AlertRule.ISSUE: RuleWatch(data.issue_causes, data.issue_past, "data-health"),
    AlertRule.HOT: RuleWatch(gpus.hot_causes, gpus.hot_past, "gpu", gpus.is_hot_seen),
    AlertRule.ECC: _of_errors(gpus.MEMORY_ERRORS),
    AlertRule.NVLINK: _of_errors(gpus.NVLINK_ERRORS),
    AlertRule.XID: _of_errors(gpus.LOST),
}
