"""The thresholds that people chose, and the usual ones of rules without a choice."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from scheduler_view.alerts.models import AlertThreshold
from scheduler_view.alerts.rules.catalogue import RULES, AlertRule, Limits


def limits_of(rule: AlertRule, stored: Iterable[AlertThreshold]) -> Limits:
    """The thresholds of a rule.

    Args:
        stored: those of this rule.
    """
    own = {
        one.team_id or 0: one.value if one.is_on else None
        for one in stored
        if one.rule == rule and one.is_own
    }
    organization = own.pop(0, RULES[rule].usual)
    if organization is None:
        own = {}  # switched off for all
    return Limits(organization, own)


def changed_at(stored: Iterable[AlertThreshold]) -> Mapping[int, datetime]:
    """When thresholds last changed, by team; 0 for the organization."""
    return {one.team_id or 0: one.changed_at for one in stored}
