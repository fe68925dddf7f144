"""Formatting of numbers: the only place where a value becomes text for a page.

A missing value is a word, never zero: every filter turns None into `No data`. The only
arithmetic is unit conversion (milliseconds to hours, ratios to percent).
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Protocol

from babel.dates import format_date, get_month_names
from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import DAY_MS, HOUR_MS, to_instant
from accounting.core.money import Money, minor_places
from accounting.core.money_text import (
    MINUS,
    amount_text,
    currency_sign,
    gpus_text,
    number_text,
)

register = template.Library()

DATES = "en_GB"  # 14 Oct 2026
_MONTHS = get_month_names("abbreviated", locale=DATES)
NO_DATA = "No data"
NO_PRICE = "No price"
MINUTE_MS = 60_000
EN_DASH = "\N{EN DASH}"


def _plain(text: str) -> str:
    return text.replace("-", MINUS)


@register.filter
def money(amount: Money | Decimal | str | None, currency: str = "") -> str:
    """`$148,210.37`; amounts nearer to zero than half a cent are `<$0.01` or `−<$0.01`.

    None has no price.

    `currency` is for a number, and for nothing that has none.

    Django passes "" for a missing variable of a template: that is not an amount either.
    """
    if amount is None or isinstance(amount, str):
        return NO_PRICE
    amount, currency = _amount(amount, currency)
    places = minor_places(currency)
    quantum = Decimal(1).scaleb(-places)
    if amount and abs(amount) < quantum / 2:
        sign = MINUS if amount < 0 else ""
        return f"{sign}<{amount_text(quantum, currency or 'XXX', places)}"
    return amount_text(amount, currency, places)


def _amount(amount: Money | Decimal, currency: str) -> tuple[Decimal, str]:
    """A number and its currency."""
    if isinstance(amount, Money):
        return amount.amount, amount.currency or currency
    return amount, currency


@register.filter
def money_round(amount: Money | Decimal | str | None, currency: str = "") -> str:
    """`$148,210` for cards; small amounts keep their places."""
    if amount is None or isinstance(amount, str):
        return NO_PRICE
    amount, currency = _amount(amount, currency)
    if abs(amount) < 100 or not currency:
        return money(amount, currency)
    return amount_text(Decimal(round(amount)), currency, 0)


@register.filter
def currency_count(currencies: Sequence[str]) -> str:
    """`2 currencies`: instead of an amount that has no sum."""
    return f"{len(currencies)} currencies"


class Charged(Protocol):
    """A row with a charge; of several currencies it has no sum."""

    @property
    def charge(self) -> Money | None: ...

    @property
    def currencies(self) -> tuple[str, ...]: ...


def of_row(row: Charged, amount: str) -> str:
    """An amount of a row; the number of its currencies if it has no sum."""
    return currency_count(row.currencies) if row.currencies else amount


@register.filter
def charge(row: Charged, currency: str) -> str:
    """The charge of a row as `money`; `2 currencies` if it is in several."""
    return of_row(row, money(row.charge, currency))


@register.filter
def exact_amount(amount: Decimal) -> str:
    """`25,112.740000`: a charge with all its places (money.md M1)."""
    return _plain(f"{amount:,.6f}")


@register.filter
def quantity(amount: Decimal | float | None, currency: str) -> str:
    """`€12,345` or `1,234 GPU-h`: an amount of a budget, which has a currency or is GPU-hours."""
    if amount is None:
        return NO_DATA
    amount = Decimal(amount)
    if currency:
        return money_round(amount, currency)
    return f"{number_text(amount, 1 if abs(amount) < 100 else 0)} GPU-h"


@register.filter
def rate(amount: Decimal | None, currency: str) -> str:
    """A price per GPU-hour with its configured places, at least two."""
    if amount is None:
        return NO_PRICE
    whole, _, places = number_text(abs(amount), 6).partition(".")
    sign = MINUS if amount.is_signed() else ""
    return f"{sign}{currency_sign(currency)}{whole}.{places.rstrip('0').ljust(2, '0')}"


@register.filter
def gpu_hours(milliseconds: int | None) -> str:
    """`132,480`, one decimal under 100, `<0.1` instead of 0; no unit."""
    if milliseconds is None:
        return NO_DATA
    hours = Decimal(milliseconds) / HOUR_MS
    if milliseconds and abs(hours) < Decimal("0.05"):
        return "<0.1" if milliseconds > 0 else f"{MINUS}<0.1"
    return number_text(hours, 1 if abs(hours) < 100 and milliseconds else 0)


@register.filter
def gibibytes(amount: float | None) -> str:
    """`40.0 GiB`; a dash if nothing was observed."""
    if amount is None:
        return NO_DATA
    return f"{number_text(amount / 2**30, 1 if amount < 100 * 2**30 else 0)} GiB"


@register.filter
def average(gpus: float | None) -> str:
    """Average GPUs with one decimal: `184.0`."""
    if gpus is None:
        return NO_DATA
    return f"{round(gpus, 1):,.1f}"


@register.filter
def gpu_count(gpus: Decimal) -> str:
    """`8`, or `0.25` of a shared GPU."""
    return gpus_text(gpus)


@register.filter
def percent(ratio: float | None) -> str:
    """`65.8%`; never rounded up to 100 or down to 0."""
    if ratio is None:
        return NO_DATA
    if 0.9995 <= ratio < 1:
        return ">99.9%"
    if 0 < ratio < 0.0005:
        return "<0.1%"
    return number_text(ratio * 100, 1).replace(",", "") + "%"


@register.filter
def money_more(difference: Decimal, currency: str) -> str:
    """`+€12.00` or `−€12.00`: a difference, which can be added to others."""
    sign = "+" if difference > 0 else ""
    return f"{sign}{money(difference, currency)}"


_MAKER = re.compile(
    r"^(?:NVIDIA|AMD|Intel|Tesla|Quadro|Instinct|GeForce)[ _-]+", re.IGNORECASE
)
_FORM = re.compile(
    r"[ _-]+(?:SXM\d?|PCIe?|HBM\w*|OAM|NVLink|GPU)(?=[ _-]|$)", re.IGNORECASE
)
_SIZE = re.compile(r"\b(\d+)[ _-]?G[i]?B\b", re.IGNORECASE)


@register.filter
def short_model(model: str) -> str:
    """`A100 80 GB` of `NVIDIA-A100-SXM4-80GB`: without maker and form; show the whole name too."""
    text = model
    while (rest := _MAKER.sub("", text)) != text:
        text = rest
    text = _SIZE.sub(r"\1 GB", _FORM.sub("", text))
    return re.sub(r"[ _-]+", " ", text).strip() or model or "Unknown model"


@register.filter
def count(number: int | None) -> str:
    """A whole number with separators."""
    return NO_DATA if number is None else f"{number:,.0f}"


_NUMBER = re.compile(r"([+-]?)(\d+)((?:\.\d+)?)")


@register.filter
def grouped(text: str) -> str:
    """A number that is text already, with separators and its sign; other text as it is."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    sign, whole, rest = found.groups()
    return f"{_plain(sign)}{int(whole):,}{rest}"


@register.filter
def duration(milliseconds: int | None) -> str:
    """`3 h 12 min`, `2 d 4 h`, `40 s`: the two largest units."""
    if milliseconds is None:
        return NO_DATA
    if milliseconds < MINUTE_MS:
        return f"{milliseconds // 1000} s"
    units = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"))
    parts: list[str] = []
    rest = milliseconds
    for size, name in units:
        number, rest = divmod(rest, size)
        if number or parts:
            parts.append(f"{number} {name}")
    return " ".join(part for part in parts[:2] if not part.startswith("0 "))


@register.filter
def kwh(joules: float | None) -> str:
    """Energy in kWh."""
    return NO_DATA if joules is None else f"{joules / 3_600_000:,.1f} kWh"


@register.filter
def day(value: date | str) -> str:
    """`14 Oct 2026`."""
    at = _date(value)
    return f"{short_day(at)} {at.year}"


@register.filter
def short_day(value: date | str) -> str:
    """`14 Oct`."""
    at = _date(value)
    return f"{at.day} {_MONTHS[at.month]}"


def _date(value: date | str) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else value


@register.filter
def days(span: DayRange) -> str:
    """`1–20 Nov 2026`, `Oct 2026` for a full month, both ends included."""
    if span.is_month:
        return format_date(span.first, "MMM yyyy", locale=DATES)
    if span.days == 1:
        return day(span.first)
    if (span.first.year, span.first.month) == (span.last.year, span.last.month):
        return f"{span.first.day}{EN_DASH}{day(span.last)}"
    if span.first.year == span.last.year:
        return f"{short_day(span.first)} {EN_DASH} {day(span.last)}"
    return f"{day(span.first)} {EN_DASH} {day(span.last)}"


@register.filter
def moment(instant: datetime | int | None) -> SafeString | str:
    """A time in the reader's zone, with the exact UTC time as tooltip."""
    if instant is None:
        return "\N{EM DASH}"
    at = to_instant(instant) if isinstance(instant, int) else instant
    local = timezone.localtime(at)
    exact = at.astimezone(UTC).isoformat(timespec="seconds")
    text = (
        f'<time datetime="{exact}" title="{exact[:10]} {exact[11:19]} UTC">'
        f"{short_day(local)} {local.hour:02}:{local.minute:02}</time>"
    )
    return mark_safe(text)  # noqa: S308  # digits and names of months


@register.filter
def moment_day(instant: datetime | None) -> SafeString | str:
    """The day of a time in the reader's zone; a dash for an open end."""
    if instant is None:
        return "\N{EM DASH}"
    if instant.year <= 1970:
        return "No start date"
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        instant.isoformat(timespec="seconds"),
        f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        day(timezone.localtime(instant)),
    )


@register.filter
def clock(instant: datetime | None) -> str:
    """Only the time of day in the reader's zone: `14:35`."""
    return NO_DATA if instant is None else f"{timezone.localtime(instant):%H:%M}"


@register.filter
def joined(base: str, more: str) -> str:
    """Two texts as one (for ids and addresses in templates)."""
    return f"{base}{more}"
