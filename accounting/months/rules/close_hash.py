"""A line of a booking, its id, and the hash of a close (money.md M9, M12, M29).

`accounting/months/sql/line_text_sql.py` writes the same texts in SQL; a test compares both.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256

from accounting.core.charge_lines import KEY_FIELDS
from accounting.core.decimal_text import plain

HASH_VERSION = "gpu-ledger-close-v1"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the 22 fields of M9 in their order; missing text is "".

    Attributes:
        billing_on: None only for a rounding line.
        rate: per GPU-hour; None where there is no price.
        fx: conversion into the billing currency; None where there is none.
        raw: currency-milliseconds, exact; None without a price or conversion.
        charge: six places; None where raw is None, but for a rounding line.
        status: priced, unpriced or unconverted.
        corrects: the revision that a correction corrects, `YYYY-MM-rN`.
        reference: number of an entry.
    """

    kind: str
    team: str
    billing_on: date | None
    cluster: str
    namespace: str
    workload_kind: str
    workload: str
    workload_type: str
    model: str
    profile: str
    lifecycle: str
    tier: str
    state: str
    price_currency: str
    rate: Decimal | None
    fx: Decimal | None
    ms: int
    raw: Decimal | None
    charge: Decimal | None
    status: str
    corrects: str
    reference: str


def line_id(line: Line, period: str, revision: int) -> str:
    """32 hex digits that name the line of its key in one revision (M12)."""
    key = [_key_text(line, name) for name in KEY_FIELDS]
    text = _array([period, str(revision), *key, line.corrects, line.reference])
    return sha256(text.encode()).hexdigest()[:32]


def line_text(line: Line) -> str:
    """The line as the hash of a close reads it (M29)."""
    values: list[str | None] = [_key_text(line, name) for name in KEY_FIELDS[:-1]]
    values += [
        _number(line.fx),
        str(line.ms),
        None if line.raw is None else plain(line.raw),
        None if line.charge is None else f"{line.charge:.6f}",
        line.status,
        line.corrects,
        line.reference,
    ]
    return _array(values)


@dataclass(frozen=True, slots=True)
class CloseHeader:
    """What a close hashes before its lines (M29).

    Attributes:
        payable: of the period, with the places of the currency.
        previous: hash of the month before; "" for the first one.
    """

    period: str
    revision: int
    starts_at: datetime
    ends_at: datetime
    timezone: str
    currency: str
    minor_places: int
    method: str
    line_count: int
    payable: Decimal
    previous: str

    def text(self) -> str:
        """One array of texts."""
        return _array(
            [
                HASH_VERSION,
                self.period,
                str(self.revision),
                _instant(self.starts_at),
                _instant(self.ends_at),
                self.timezone,
                self.currency,
                str(self.minor_places),
                self.method,
                str(self.line_count),
                f"{self.payable:.{self.minor_places}f}",
                self.previous,
            ]
        )


def close_hash(header: CloseHeader, texts: Iterable[str]) -> str:
    """SHA-256 of the header and the lines' texts, which must come in the order of their bytes."""
    digest = sha256(header.text().encode() + b"\n")
    for text in texts:
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()


def _key_text(line: Line, name: str) -> str:
    value = getattr(line, name)
    if name == "billing_on":
        return value.isoformat() if value else ""
    return _number(value) if name == "rate" else value


def _number(value: Decimal | None) -> str:
    """A number, or "" for none."""
    return "" if value is None else plain(value)


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _array(values: Sequence[str | None]) -> str:
    """RFC 8785: compact, UTF-8 not escaped."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))
