"""Takes the steps of a golden case in the product, and reads what it booked."""

import json
from typing import Any

from django.contrib.auth import get_user_model

from accounting.months.models.period import BillingPeriod, PeriodRevision
from accounting.months.reads.corrections import cause_groups
from accounting.months.reads.lines import booking_of
from accounting.months.tasks import store
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running
from tests.integration.months import world


def answer(step: dict[str, Any], *, is_rolled_up: bool = False) -> dict[str, Any]:
    """Write the step's world and take the step; the answer of a golden case.

    Args:
        step: of a golden case.
        is_rolled_up: see `world.write`.
    """
    if "world" in step:
        world.write(step["world"], is_rolled_up=is_rolled_up)
    period = step["period"]
    if step["do"] == "reopen":
        return _reopened(period)
    closed = PeriodRevision.objects.filter(
        period=period, closed_at__isnull=False, reopened_at=None
    ).first()
    if closed is None:
        BillingPeriod.objects.update_or_create(
            name=period, defaults={"method": step["method"]}
        )
    try:
        act = book_running if step["do"] == "show" else close_period
        revision = act(period)
    except PeriodError:
        return {"refused": "not the next period to close"}
    if closed is not None and step["do"] == "close":
        return {"closed_already": revision.hash}
    return _booked(revision)


def _causes(period: str) -> list[list[str]]:
    """The cause of each correction."""
    groups = cause_groups(booking_of(period))
    return sorted([one.corrects, *one.key, one.cause] for one in groups)


def _reopened(period: str) -> dict[str, Any]:
    people = get_user_model().objects
    by, second = (people.get_or_create(username=n)[0] for n in ("finance", "admin"))
    try:
        reopen_period(
            period, reason="a price list was missing", by=by, confirmed_by=second
        )
    except PeriodError:
        return {"refused": "not the latest closed period"}
    return {"reopened": period}


def _booked(revision: PeriodRevision) -> dict[str, Any]:
    table = "charge_line" if revision.is_closed else "running_line"
    places = revision.minor_places
    hours = (revision.ends_at - revision.starts_at).total_seconds() / 3600
    return {
        "causes": _causes(revision.period),
        "currency": revision.currency,
        "hash": store.hash_lines(table, revision),
        "hours": str(int(hours)),
        "lines": [json.loads(text) for text in store.line_texts(table, revision)],
        "payable": f"{revision.payable:.{places}f}",
        "period": revision.period,
        "revision": revision.revision,
        "statements": [
            {
                "payable": f"{one.payable:.{places}f}",
                "team": one.team,
                "total6": f"{one.total6:.6f}",
            }
            for one in revision.statements.all()
        ],
        "total6": f"{revision.total6:.6f}",
        "without_money_ms": revision.without_money_ms,
    }
