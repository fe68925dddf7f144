"""Bookings of random lines, stored as a close stores them."""

import random
from dataclasses import astuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.core.charge_lines import FIELDS, PLATFORM
from accounting.core.money import minor_places
from accounting.core.rounding import half_even
from accounting.months.models.charge import ChargeLine, RunningLine
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.rules.close_hash import (
    CloseHeader,
    Line,
    close_hash,
    line_id,
    line_text,
)

TEAMS = ("search", "vision", "unmapped", PLATFORM)
MODELS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB")
ODD = (
    "=1+1",
    "+x",
    "-x",
    "@x",
    "\uff1dx",
    "\ttab",
    "\nline",
    'quote"',
    "a,b",
    "  a ",
    "é",
    "<r>&</r>",
)


def odd_text(dice: random.Random, usual: str) -> str:
    """A text that a spreadsheet or a CSV parser may take for something else."""
    return dice.choice(ODD) if dice.random() < 0.3 else usual


def random_line(dice: random.Random, kind: str, period: str = "2026-10") -> Line:
    """A line of a kind: texts, prices and amounts at random, all of them possible."""
    is_time = kind in ("usage", "platform")
    is_spread = kind in ("spread", "difference")
    has_row = is_time or is_spread
    day = date.fromisoformat(f"{period}-01") + timedelta(days=dice.randrange(30))
    rate = Decimal(dice.randrange(10**7)).scaleb(-6)
    fx = Decimal(1)
    if dice.random() < 0.5:
        fx = Decimal(dice.randrange(1, 10**10)).scaleb(-10)
    corrects = "2026-09-r1" if has_row and dice.random() < 0.3 else ""
    if corrects:
        day = day.replace(month=9)
    ms = dice.randrange(-(10**9), 10**9) if corrects else dice.randrange(10**10)
    raw = ms * rate * fx if is_time else Decimal(dice.randrange(-(10**9), 10**9))
    charge = half_even(Fraction(raw) / 3_600_000, 6)
    priced = not is_time or dice.random() < 0.9
    name = odd_text(dice, f"train-{dice.randrange(99)}") if kind == "usage" else ""
    is_mig = has_row and dice.random() < 0.2
    return Line(
        kind=kind,
        team=PLATFORM if kind in ("platform", "difference") else dice.choice(TEAMS[:3]),
        billing_on=None if kind == "rounding" else day,
        cluster=dice.choice(("north", "south")) if has_row else "",
        namespace=odd_text(dice, "ml") if kind == "usage" else "",
        workload_kind=dice.choice(("Job", "")) if name else "",
        workload=name,
        workload_type=odd_text(dice, "training") if name else "",
        model=odd_text(dice, dice.choice(MODELS)) if has_row else "",
        profile="1g.10gb" if is_mig else "",
        lifecycle=dice.choice(("spot", "reserved", "on-demand", "unknown"))
        if has_row
        else "",
        tier=dice.choice(("", "high")) if kind == "usage" else "",
        state=dice.choice(("busy", "idle", "unknown")) if is_time else "",
        price_currency=dice.choice(("EUR", "USD")) if is_time else "",
        rate=rate if is_time and priced else None,
        fx=fx if is_time and priced else None,
        ms=0 if kind not in ("usage", "platform", "spread") else ms,
        raw=raw if priced and kind != "rounding" else None,
        charge=charge if priced else None,
        status="priced" if priced else "unpriced",
        corrects=corrects,
        reference=f"E-{dice.randrange(9)}" if kind in ("credit", "adjustment") else "",
    )


def random_lines(seed: int, count: int) -> list[Line]:
    """Lines of all kinds with distinct keys."""
    dice = random.Random(seed)
    kinds = ["usage"] * 6
    kinds += ["platform", "difference", "spread", "credit", "adjustment", "rounding"]
    lines = [random_line(dice, dice.choice(kinds)) for _ in range(count)]
    return list({line_id(line, "2026-10", 1): line for line in lines}.values())


def book(
    lines: list[Line],
    *,
    period: str = "2026-10",
    revision: int = 1,
    is_closed: bool = True,
    currency: str = "EUR",
    method: str = "alloc-v1",
) -> PeriodRevision:
    """Store lines as the booking of a period; statements are the sums of their charges."""
    first = date.fromisoformat(f"{period}-01")
    after = (first + timedelta(days=31)).replace(day=1)
    row = PeriodRevision.objects.create(
        period=period,
        revision=revision,
        starts_at=datetime(first.year, first.month, 1, tzinfo=UTC) - timedelta(hours=2),
        ends_at=datetime(after.year, after.month, 1, tzinfo=UTC) - timedelta(hours=1),
        timezone="Europe/Berlin",
        currency=currency,
        minor_places=minor_places(currency),
        method=method,
        booked_at=datetime(2026, 11, 5, tzinfo=UTC),
        line_count=len(lines),
    )
    model: Any = ChargeLine if is_closed else RunningLine
    model.objects.bulk_create(
        [
            model(
                revision=row,
                line_id=line_id(line, period, revision),
                **dict(zip(FIELDS, astuple(line), strict=True)),
            )
            for line in lines
        ],
        batch_size=500,
    )
    _statements(row, lines)
    if is_closed:
        row.hash = hash_of(row, lines)
        row.closed_at = row.booked_at
    row.save()
    return row


def _statements(row: PeriodRevision, lines: list[Line]) -> None:
    for team in sorted({line.team for line in lines}):
        total = sum(
            (line.charge for line in lines if line.team == team and line.charge),
            Decimal(0),
        )
        lost = sum(
            line.ms for line in lines if line.team == team and line.charge is None
        )
        Statement.objects.create(
            revision=row,
            team=team,
            own6=total,
            entries6=0,
            corrections6=0,
            total6=total,
            payable=total,
            busy_ms=1,
            idle_ms=2,
            unknown_ms=3,
            without_money_ms=lost,
        )
        row.total6 += total
        row.payable += total
        row.without_money_ms += lost


def hash_of(row: PeriodRevision, lines: list[Line]) -> str:
    """The hash of a close of these lines."""
    header = CloseHeader(
        row.period,
        row.revision,
        row.starts_at,
        row.ends_at,
        row.timezone,
        row.currency,
        row.minor_places,
        row.method,
        len(lines),
        row.payable,
        "",
    )
    return close_hash(header, sorted(map(line_text, lines), key=str.encode))
