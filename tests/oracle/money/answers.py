"""Answers of the reference to the inputs of golden cases."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tests.oracle.money.exact import (
    MICRO,
    fixed,
    half_even,
    largest_remainder,
    minor_places,
)
from tests.oracle.money.ledger import Booking, Ledger, causes
from tests.oracle.money.lines import Key
from tests.oracle.money.outlook import anomaly, forecast


def answer(case: Mapping[str, Any]) -> dict[str, Any]:
    """The whole answer to the `input` of a case."""
    operation = {
        "lr": _shares,
        "half_even": _rounded,
        "forecast": forecast,
        "anomaly": anomaly,
        "steps": _steps,
    }[case["op"]]
    return operation(case)


def _shares(case: Mapping[str, Any]) -> dict[str, Any]:
    items: dict[Key, Fraction]
    items = {(name,): Fraction(amount) for name, amount in case["items"]}
    shares = largest_remainder(items, case["total"])
    return {"shares": {key[0]: share for key, share in shares.items()}}


def _rounded(case: Mapping[str, Any]) -> dict[str, Any]:
    places = case["places"]
    values = [half_even(Fraction(value), places) for value in case["values"]]
    return {"values": [fixed(value, places) for value in values]}


def _steps(case: Mapping[str, Any]) -> dict[str, Any]:
    ledger = Ledger()
    return {"steps": [step_answer(ledger, step) for step in case["steps"]]}


def step_answer(ledger: Ledger, step: Mapping[str, Any]) -> dict[str, Any]:
    """Take one step in a ledger and say what it did."""
    period = step["period"]
    ledger.world = step.get("world", ledger.world)
    if step["do"] == "reopen":
        if ledger.reopen(period):
            return {"reopened": period}
        return {"refused": "not the latest closed period"}
    if step["do"] == "show":
        return booking_answer(ledger.show(period, step["method"]))
    if period in ledger.closed:
        return {"closed_already": ledger.closed[period].hash}
    booking = ledger.close(period, step["method"])
    if booking is None:
        return {"refused": "not the next period to close"}
    return booking_answer(booking)


def booking_answer(booking: Booking) -> dict[str, Any]:
    """A booking in the format of the golden cases."""
    places = minor_places(booking.currency)
    start, end, _ = booking.bounds
    seconds = int((end - start).total_seconds())
    teams = sorted(booking.totals, key=str.encode)
    return {
        "causes": causes(booking),
        "currency": booking.currency,
        "hash": booking.hash,
        "hours": str(seconds // 3600),
        "lines": [json.loads(line.text()) for line in booking.lines],
        "payable": fixed(sum(booking.payables.values()), places),
        "period": booking.period,
        "revision": booking.revision,
        "statements": [
            {
                "team": team,
                "payable": fixed(booking.payables[team], places),
                "total6": fixed(booking.totals[team], MICRO),
            }
            for team in teams
        ],
        "total6": fixed(sum(booking.totals.values()), MICRO),
        "without_money_ms": sum(x.ms for x in booking.own() if x.status != "priced"),
    }
