"""Credits and adjustments of teams: finance and administrators (money.md M25)."""

from datetime import date
from decimal import Decimal

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection

from accounting.access.models.teams import Team
from accounting.core.money import Money
from accounting.kit.audit import act
from accounting.kit.once import LONGEST_KEY, KeyReused, digest_of, once
from accounting.kit.preview import Preview
from accounting.kit.reads.database_clock import database_now
from accounting.kit.wakeup import BOOK_PERIODS, wake_worker
from accounting.months.actions.periods import check_right, reason_of
from accounting.months.models.entry import Entry, EntryKind
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.entry_effect import entry_effect
from accounting.months.tasks.locking import hold_booking
from accounting.months.tasks.periods import (
    PeriodError,
    PeriodTerms,
    first_period,
    next_to_close,
)

LARGEST = Decimal(10) ** 12


class EntryAmountError(PeriodError):
    """The amount, or its sign, is not possible for an entry."""

    member = "amount"


class PreviewChanged(PeriodError):
    """What a person confirmed is not what the entry would do now."""


def add_previewed_entry(
    kind: str,
    team: Team,
    billing_on: date,
    amount: Decimal,
    reason: str,
    author: AbstractBaseUser,
    *,
    preview: Preview,
) -> Entry:
    """Add an entry as it was previewed, or find the one that this preview has added.

    Raises:
        PreviewChanged: the payables are others now, or there was no preview; nothing was added.
        EntryAmountError, PeriodError, NotAllowed: as `add_entry`.
    """

    def make() -> str:
        check_seen(kind, team, billing_on, amount, preview.seen)
        return add_entry(kind, team, billing_on, amount, reason, author).number

    check_right(author)
    if not preview.key:
        raise PreviewChanged("check what the entry does before it is added")
    body = digest_of(kind, team.pk, billing_on, amount, reason)
    key = f"entry {preview.key}"[:LONGEST_KEY]
    try:
        number, _ = once(
            user_id=author.pk, key=key, digest=body, at=database_now(), make=make
        )
    except KeyReused:
        raise PreviewChanged(
            "this is not the entry that was previewed, and nothing was added: check what it does"
        ) from None
    return Entry.objects.get(number=number)


def check_seen(
    kind: str, team: Team, billing_on: date, amount: Decimal, seen: str
) -> None:
    """Hold the booking, and compare the payables with those that a preview showed.

    Raises:
        PreviewChanged: they are others now.
        EntryAmountError, PeriodError: as `add_entry`.
    """
    money = Money(amount, check_entry(kind, billing_on, amount))
    hold_booking()
    if entry_effect(team, billing_on, money).seen != seen:
        raise PreviewChanged(
            "the payables have changed since this preview, and nothing was added: check what "
            "the entry does now"
        )


def add_entry(
    kind: str,
    team: Team,
    billing_on: date,
    amount: Decimal,
    reason: str,
    author: AbstractBaseUser,
) -> Entry:
    """Add an amount to a team's statement, and its opposite to the platform's.

    A worker books its month as soon as it can; until then pages say that the entry is not included.

    Args:
        kind: `credit` (below 0) or `adjustment` (not 0).
        team: that gets it.
        billing_on: a day of a period that is not closed, of the ledger's first month or later.
        amount: in the billing currency, with the places of its minor unit.
        reason: 10 to 200 characters.
        author: a person of finance or an administrator.

    Raises:
        EntryAmountError: the amount does not fit the kind or the currency.
        PeriodError: another one of these is not so; nothing was added.
        NotAllowed: the person may not add entries.
    """
    check_right(author)
    text = reason_of(reason)
    currency = check_entry(kind, billing_on, amount)
    with act(author, text):
        hold_booking()
        _check_open(f"{billing_on:%Y-%m}")
        wake_worker(BOOK_PERIODS)
        return Entry.objects.create(
            number=_next_number(),
            kind=kind,
            team=team,
            billing_on=billing_on,
            amount=amount,
            currency=currency,
            reason=text,
            author_id=author.pk,
        )


def check_entry(kind: str, billing_on: date, amount: Decimal) -> str:
    """Check what `add_entry` checks of an amount and its day, for a preview.

    Returns:
        The currency of the amount.

    Raises:
        EntryAmountError, PeriodError: as `add_entry`.
    """
    period = f"{billing_on:%Y-%m}"
    terms = PeriodTerms.of(period)
    _check_amount(kind, amount, terms)
    _check_open(period)
    return terms.currency


def _check_amount(kind: str, amount: Decimal, terms: PeriodTerms) -> None:
    if kind not in EntryKind.values:
        raise PeriodError(f"{kind!r} is not a kind of entry: credit or adjustment")
    if not amount.is_finite() or not 0 < abs(amount) < LARGEST:
        raise EntryAmountError(f"the amount {amount} must not be 0, and be below 10^12")
    if kind == EntryKind.CREDIT and amount > 0:
        raise EntryAmountError(f"a credit is below 0; {amount} is an adjustment")
    if amount != round(amount, terms.minor_places):
        raise EntryAmountError(
            f"{amount} {terms.currency} has more than {terms.minor_places} decimal places"
        )


def _check_open(period: str) -> None:
    following = next_to_close()
    is_closed = PeriodRevision.objects.filter(
        period=period, closed_at__isnull=False, reopened_at=None
    ).exists()
    if is_closed or (following is not None and period < following):
        why = "is closed" if is_closed else "was never closed, and later months were"
        raise PeriodError(
            f"{period} {why}: choose a day of {following} or a later month",
            member="day",
        )
    first = first_period()
    if following is None and first is not None and period < first:
        raise PeriodError(
            f"{period} is before the first month of the ledger, {first}, so no statement would "
            f"have it: choose a day of {first} or a later month",
            member="day",
        )


def _next_number() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT coalesce(max(substring(number FROM '^E-([0-9]+)$')::bigint), 0) + 1
               FROM accounting_entry"""
        )
        return f"E-{cursor.fetchone()[0]}"
