"""The part of a month's page that shows its close: requested, running, or why it did not happen."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.months.reads.close_requests import CloseProgress, close_progress
from accounting.months.reads.periods import PeriodRow
from accounting.months.rules.check_words import CHECK_ACTIONS, CHECK_TITLES
from accounting.months.rules.close_checks import CloseCheck, Level

CLOSING = "closing"  # the id of the part, which htmx names when it reads it again
CLOSING_STATE = ("warn", "Closing")


CheckRow = tuple[CloseCheck, str, tuple[str, str], bool, str]


def check_rows(checks: Iterable[CloseCheck], visitor: str) -> list[CheckRow]:
    """Checks with title, tone and word, whether the visitor may confirm an override, and a button.

    The button says what the page does that corrects it; "" where only time does.

    Args:
        checks: as they are shown, in order.
        visitor: the user name.
    """
    return [
        (
            one,
            CHECK_TITLES[one.code],
            _tone(one),
            _may_confirm(one, visitor),
            CHECK_ACTIONS.get(one.code, "") if one.link else "",
        )
        for one in checks
    ]


def failing(rows: Iterable[CheckRow]) -> list[CheckRow]:
    """Those that did not pass: what blocks the close, what is overridden, then warnings."""
    order = ("Blocks", "Overridden", "Warning")
    found = [one for one in rows if one[0].level is not Level.PASSED]
    return sorted(found, key=lambda one: order.index(one[2][1]))


def _tone(check: CloseCheck) -> tuple[str, str]:
    if check.is_overridden:
        return ("warn", "Overridden")
    if check.is_blocking:
        return ("danger", "Blocks")
    if check.level is Level.WARNING:
        return ("warn", "Warning")
    return ("ok", "Passed")


def _may_confirm(check: CloseCheck, visitor: str) -> bool:
    """Whether another person's override waits for this visitor."""
    waiting = check.override
    if waiting is None or waiting.is_confirmed:
        return False
    return waiting.requested_by != visitor


def closing_part(request: HttpRequest, row: PeriodRow) -> HttpResponse:
    """The part again while the close is not finished; then the whole page is loaded again."""
    closing = close_progress(row.name)
    if not closing.is_unfinished:
        return HttpResponse(headers={"HX-Refresh": "true"})
    context = {"row": row, **closing_context(closing)}
    return render(request, "months/_closing.html", context)


def closing_context(closing: CloseProgress) -> dict[str, Any]:
    """What the part shows: the request, and the checks that blocked it then."""
    return {
        "closing": closing,
        "refused_checks": [
            (one, CHECK_TITLES[one["code"]]) for one in closing.blocking
        ],
    }
