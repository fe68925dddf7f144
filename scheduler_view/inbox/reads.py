"""What waits for a person, in order of deadlines, how much by list, and what became of it."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from accounting.access.scope import EVERYTHING, Scope
from accounting.core.read_once import read_once
from accounting.health.reads.unassigned import MODELS, NAMESPACES
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.months.reads.closing_inbox import CLOSES
from accounting.months.reads.contest_inbox import CONTESTS
from accounting.months.reads.waiting import CONFIRMATIONS
from accounting.prices.reads.price_drafts import PRICE_LISTS
from scheduler_view.alerts.reads.alerts import COUNT as NEW_ALERTS
from scheduler_view.alerts.rules.states import NEW_FOR
from scheduler_view.changes.reads.waiting_approvals import CHANGES
from scheduler_view.quotas.reads.drift_inbox import DIFFERENCES

KINDS: tuple[Kind, ...] = (
    *(CHANGES, DIFFERENCES),
    *(CLOSES, CONFIRMATIONS, CONTESTS),
    *(PRICE_LISTS, NAMESPACES, MODELS),
)
KEPT = timedelta(days=90)
"""How far back the history goes; the pages of changes, contests and the audit log keep all."""
ALERTS = "alerts"
"""The name of the count of new alerts, beside the names of kinds; also the route of its page."""
_COUNTED = f"SELECT {', '.join(f'({kind.count})' for kind in KINDS)}, ({NEW_ALERTS})"
_COUNTS = "\n".join(line.strip() for line in _COUNTED.splitlines())
"""Not indented: psycopg keeps the parsed form of statements of up to 4,096 characters."""
_NEVER = datetime.max.replace(tzinfo=UTC)


def nobody(at: datetime) -> Asker:
    """Who asks with a command: an administrator who has asked for nothing."""
    return Asker(EVERYTHING, 0, "", at)


def inbox_rows(asker: Asker, *, teams: Collection[str] = ()) -> list[InboxRow]:
    """What waits for a person: what lapses first, then the oldest.

    Kinds without rows cost nothing beyond the one statement that counts all kinds.

    Args:
        teams: only what is about one of them.
    """
    counts = _counts(asker)
    kinds = [kind for kind in KINDS if kind.is_of_teams or not teams]
    found = [row for kind in kinds if counts.get(kind.name) for row in kind.rows(asker)]
    if teams:
        found = [row for row in found if not set(teams).isdisjoint(row.teams)]
    return sorted(found, key=lambda row: (row.until or _NEVER, row.since, row.what))


def counts_by_place(asker: Asker) -> Mapping[str, int]:
    """How much waits by the route of the list where it is done; one statement for all kinds.

    None for people who can do nothing of it. New alerts are apart: `new_alerts`.
    """
    counts = _counts(asker)
    found: Counter[str] = Counter()
    for kind in KINDS:
        found[kind.place] += counts.get(kind.name, 0)
    return found


def new_alerts(asker: Asker) -> int:
    """How many alerts are new, worse or back again, by the same statement."""
    return _counts(asker).get(ALERTS, 0)


@read_once
def _counts(asker: Asker) -> Mapping[str, int]:
    if not any(kind.may(asker.scope) for kind in KINDS):
        return {}
    values: dict[str, Any] = {**asker.values, "alerts_since": asker.at - NEW_FOR}
    for kind in KINDS:
        values.update(kind.values(asker))
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, values)
        names = *(kind.name for kind in KINDS), ALERTS
        return dict(zip(names, cursor.fetchone(), strict=True))


def done_rows(scope: Scope, at: datetime) -> list[DoneRow]:
    """What was done or ended in the last 90 days, the newest first."""
    found = [row for kind in KINDS for row in kind.done(scope, at - KEPT)]
    return sorted(found, key=lambda row: (row.at, row.what), reverse=True)
