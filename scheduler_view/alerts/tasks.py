"""Looks for the causes of each rule and stores what became of each alert (alerts.md).

One rule after the other, each in a transaction of its own: a rule that fails leaves its alerts as
they are, and says so. Looking twice changes nothing; of two workers one looks.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Q

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.kit.failpoints import reach
from accounting.kit.locks import try_lock
from accounting.kit.reads.database_clock import database_now
from scheduler_view.alerts.models import Alert, AlertCheck, AlertThreshold
from scheduler_view.alerts.reads.thresholds import changed_at, limits_of
from scheduler_view.alerts.reads.watches import WATCHES
from scheduler_view.alerts.rules.catalogue import LOCKS, RULES, AlertRule, Limits
from scheduler_view.alerts.rules.cause import AlertCause
from scheduler_view.alerts.rules.states import (
    AlertMark,
    AlertStanding,
    Resolution,
    after_found,
    after_gone,
)

log = structlog.get_logger(__name__)
PAST_DAYS = 30  # of "would have fired"
SEEN_WITHIN = timedelta(days=1)  # of a metric that is scraped
_CAUSE = (
    *("team", "what", "about", "place", "query", "since", "fired_at", "figure"),
    *("amount", "per_hour", "currency"),
)
_STANDING = (
    *("mark", "marked_at", "marked_figure", "unit", "times"),
    *("archived_figure", "resolved_at", "resolution"),
)
_FIELDS = [*_CAUSE, "seen_at", *_STANDING]


def look_for_alerts() -> dict[AlertRule, int]:
    """Look for the causes of all rules; how many each has. Without those that failed."""
    found = {}
    for rule in WATCHES:
        try:
            count = look(rule)
        except Exception as error:  # the other rules are looked at
            log.exception("alerts failed", rule=rule.value)
            _record_failure(rule, f"{type(error).__name__}: {error}")
        else:
            if count is not None:
                found[rule] = count
    return found


def look(rule: AlertRule, now: Callable[[], datetime] = database_now) -> int | None:
    """Look for the causes of one rule; how many, or None if another worker looks.

    Args:
        now: the clock that all workers share: a machine's own may be wrong.
    """
    with transaction.atomic(), billing_remembered():
        if not try_lock("alerts", LOCKS[rule]):
            return None
        at = now()
        stored = [*AlertThreshold.objects.filter(rule=rule)]
        limits = limits_of(rule, stored)
        causes = _causes(rule, limits, at)
        _store(rule, causes, limits, changed_at(stored), at)
        reach("alerts_stored")
        _record(rule, at)
        return len(causes)


def _causes(rule: AlertRule, limits: Limits, at: datetime) -> dict[str, AlertCause]:
    if limits.organization is None:
        return {}
    return {cause.key[:700]: cause for cause in WATCHES[rule].find(limits, at)}


def _store(
    rule: AlertRule,
    causes: Mapping[str, AlertCause],
    limits: Limits,
    changed: Mapping[int, datetime],
    at: datetime,
) -> None:
    of_rule = Alert.objects.filter(rule=rule)
    known = {
        alert.key: alert
        for alert in of_rule.filter(Q(resolved_at=None) | Q(key__in=causes))
    }
    rows = []
    for key, cause in causes.items():
        alert = known.get(key) or Alert(rule=rule, key=key)
        before = _standing(alert) if alert.pk else None
        after = after_found(before, cause.figure, cause.unit, at)
        rows.append(_written(alert, cause, after, at))
    for key, alert in known.items():
        if key not in causes and alert.resolved_at is None:
            reason = _resolution(alert, limits, changed)
            _put(alert, after_gone(_standing(alert), reason, at))
            rows.append(alert)
    Alert.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["rule", "key"],
        update_fields=_FIELDS,
        batch_size=1000,
    )


def _resolution(
    alert: Alert, limits: Limits, changed: Mapping[int, datetime]
) -> Resolution:
    if limits.of(alert.team_id) is None:
        return Resolution.OFF
    own = changed.get(alert.team_id or 0) or changed.get(0)
    is_changed = own is not None and own > alert.seen_at
    return Resolution.THRESHOLD if is_changed else Resolution.GONE


def _standing(alert: Alert) -> AlertStanding:
    return AlertStanding(
        AlertMark(alert.mark),
        alert.marked_at,
        alert.marked_figure,
        alert.unit,
        alert.times,
        alert.archived_figure,
        alert.resolved_at,
        alert.resolution,
    )


def _written(
    alert: Alert, cause: AlertCause, standing: AlertStanding, at: datetime
) -> Alert:
    alert.team_id = cause.team
    alert.what, alert.about = cause.what[:500], cause.about[:500]
    alert.place, alert.query = [*cause.place], dict(cause.query)
    if not (cause.keeps_since and alert.pk and alert.resolved_at is None):
        alert.since, alert.fired_at = cause.since, cause.fired_at
    alert.seen_at = at
    alert.figure, alert.amount = cause.figure, cause.amount
    alert.per_hour, alert.currency = cause.per_hour, cause.currency
    _put(alert, standing)
    return alert


def _put(alert: Alert, standing: AlertStanding) -> None:
    for name in _STANDING:
        setattr(alert, name, getattr(standing, name))


def _record(rule: AlertRule, at: datetime) -> None:
    """That the rule was looked at; once a day, how often it would have fired."""
    check = AlertCheck.objects.filter(rule=rule).first() or AlertCheck(rule=rule)
    check.checked_at, check.error = at, ""
    today = billing_day(at)
    if check.past_on != today:
        seen = WATCHES[rule].is_seen
        check.is_seen = None if seen is None else seen(at - SEEN_WITHIN)
        check.past, check.past_on = _past(rule, today), today
    check.save()


def _past(rule: AlertRule, today: date) -> dict[str, dict[str, dict[str, int]]]:
    """How often the rule would have fired, by threshold, team and billing day."""
    start, end = midnight(today - timedelta(days=PAST_DAYS)), midnight(today)
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for one in WATCHES[rule].past(RULES[rule].choices, start, end):
        by_day = counts.setdefault(str(one.threshold), {}).setdefault(str(one.team), {})
        day = billing_day(one.at).isoformat()
        by_day[day] = by_day.get(day, 0) + 1
    return counts


def _record_failure(rule: AlertRule, error: str) -> None:
    AlertCheck.objects.update_or_create(
        rule=rule, defaults={"error": error[:500], "checked_at": database_now()}
    )
