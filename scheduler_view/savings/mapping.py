"""Runs of held time as stored JSON, and back."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from scheduler_view.savings.rules.held_time import HeldRun
from scheduler_view.waits.rules.activity import Activity


def runs_to_json(runs: Iterable[HeldRun]) -> list[list[Any]]:
    """Runs of one pod and day, as `HeldDay.runs`; the day is the row's."""
    return [
        [
            run.start_ms,
            run.end_ms,
            run.part,
            int(run.of_hold),
            int(run.own),
            run.busy_ms,
            run.idle_ms,
            run.unknown_ms,
            run.team,
            None if run.rate is None else str(run.rate),
            run.currency,
        ]
        for run in runs
    ]


def runs_from_json(day: date, stored: Iterable[list[Any]]) -> list[HeldRun]:
    """The runs of a `HeldDay`."""
    return [
        HeldRun(
            start_ms,
            end_ms,
            day.toordinal(),
            part,
            Activity(of_hold),
            Activity(own),
            busy_ms,
            idle_ms,
            unknown_ms,
            team,
            None if rate is None else Decimal(rate),
            currency,
        )
        for (
            start_ms,
            end_ms,
            part,
            of_hold,
            own,
            busy_ms,
            idle_ms,
            unknown_ms,
            team,
            rate,
            currency,
        ) in stored
    ]
