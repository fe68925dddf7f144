"""Alerts: read by whom they are about, archived and taken back by the same."""

from collections.abc import Iterable

from accounting.access.rights import ALERTS as READ
from accounting.access.scope import Scope
from accounting.kit.resources.resource import Filters, Resource, Verb
from scheduler_view.alerts.actions import (
    ArchiveAlert,
    RestoreAlert,
    archive_alert,
    restore_alert,
)
from scheduler_view.alerts.reads.alerts import AlertItem, alert_row, alert_rows
from scheduler_view.alerts.rules.states import AlertState


def _read(scope: Scope, filters: Filters) -> Iterable[AlertItem]:
    return alert_rows(scope, tuple(AlertState), teams=filters.get("team", ()))


ARCHIVE = Verb(
    "archive",
    archive_alert,
    ArchiveAlert,
    READ,
    "Hide an alert until its figure grows by half.",
    title="Archive an alert",
)
RESTORE = Verb(
    "restore",
    restore_alert,
    RestoreAlert,
    READ,
    "Show an archived alert again.",
    title="Show an alert again",
)
ALERTS = Resource(
    "alerts",
    AlertItem,
    READ,
    _read,
    "List alerts: new ones first, and those that were resolved in the last 90 days last.",
    "One of them, also if it was resolved earlier.",
    item=alert_row,
    filters=("team",),
    verbs=(ARCHIVE, RESTORE),
)
