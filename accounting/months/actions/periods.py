"""Closing months, overriding checks, reopening, and methods: finance and administrators."""

from datetime import UTC, datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from accounting.access.rights import PERIODS
from accounting.access.scope import scope_of
from accounting.core.written_text import hidden_fault
from accounting.kit.audit import SYSTEM, Actor, act
from accounting.kit.outcomes import RefusalCode
from accounting.months.models.close import CloseOverride, ReopenRequest
from accounting.months.models.period import BillingPeriod, PeriodRevision
from accounting.months.rules.close_checks import (
    CONFIRM_WITHIN,
    REASON_LENGTHS,
    RULES,
    CloseCheck,
)
from accounting.months.rules.methods import Method, MethodError
from accounting.months.tasks.checks import of_close as close_checks
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.locking import hold_booking
from accounting.months.tasks.periods import (
    PeriodError,
    PeriodTerms,
    first_day,
    latest_closed,
)


class CloseRefused(PeriodError):
    """A period cannot be closed now.

    Attributes:
        checks: every check; those with `is_blocking` are the reason.
    """

    def __init__(self, period: str, checks: tuple[CloseCheck, ...]) -> None:
        """Name what blocks."""
        self.checks = checks
        causes = "; ".join(
            f"{one.code}: {one.message}" for one in checks if one.is_blocking
        )
        super().__init__(f"{period} cannot be closed: {causes}")


class NotAllowed(PeriodError):
    """The person may not do this.

    Attributes:
        who: may, for the page that says so; "" if the text says it.
    """

    code = RefusalCode.FORBIDDEN

    def __init__(self, text: str, *, who: str = "") -> None:
        super().__init__(text)
        self.who = who


def close(period: str, by: Actor, *, now: datetime | None = None) -> PeriodRevision:
    """Close a period if nothing blocks it. A closed period is returned as it is.

    Args:
        period: YYYY-MM.
        by: a person of finance or an administrator; `SYSTEM` from the command line.
        now: the time of the close.

    Raises:
        CloseRefused: with its checks; nothing was changed.
        PeriodError: the text is not a month, or another month must be closed first.
        NotAllowed: the person may not close periods.
    """
    check_right(by)
    moment = now or datetime.now(UTC)

    if close_checks.is_too_early(period, moment):
        raise CloseRefused(period, close_checks.run_checks(period, moment))

    def check(lines: str) -> list[dict[str, object]]:
        found = close_checks.run_checks(period, moment, lines=lines)
        if any(one.is_blocking for one in found):
            raise CloseRefused(period, found)
        return [one.fields() for one in found]

    with act(by, f"close {period}"):
        return close_period(period, by=_person(by), now=moment, check=check)


def request_override(
    period: str,
    check: str,
    reason: str,
    by: AbstractBaseUser,
    *,
    now: datetime | None = None,
) -> CloseOverride:
    """Request to close a period although a check blocks it; another person confirms.

    It holds for the values that the check has now (M27).

    Raises:
        PeriodError: the check does not exist, does not block or cannot be overridden, the period
            is closed, or the reason is too short or too long.
        NotAllowed: the person may not override checks.
    """
    check_right(by)
    text, moment = reason_of(reason), now or datetime.now(UTC)
    if check not in RULES:
        raise PeriodError(f"{check!r} is not a check. Checks: {', '.join(RULES)}")
    with act(by, text):
        hold_booking()
        number = _next_revision(period)
        [found] = [
            one
            for one in close_checks.shown_checks(period, moment)
            if one.code == check
        ]
        if not found.is_blocking:
            raise PeriodError(f"{check} does not block the close of {period}")
        if not found.is_overridable:
            raise PeriodError(f"{check} cannot be overridden: {found.message}")
        return CloseOverride.objects.create(
            period=period,
            revision=number,
            code=check,
            seen={cause.subject: str(cause.value) for cause in found.causes},
            reason=text,
            requested_by_id=by.pk,
            requested_at=moment,
        )


def confirm_override(
    number: int, by: AbstractBaseUser, *, now: datetime | None = None
) -> CloseOverride:
    """Confirm another person's override within 24 hours.

    Raises:
        PeriodError: it does not exist, is confirmed, or its time is over.
        NotAllowed: the same person, or one who may not override checks.
    """
    check_right(by)
    with act(by, f"confirm override {number}"):
        hold_booking()
        row = CloseOverride.objects.select_for_update().filter(pk=number).first()
        if row is None:
            raise PeriodError(f"there is no override {number}")
        if _next_revision(row.period) != row.revision:
            raise PeriodError(f"override {number} is for an earlier revision")
        _confirm(row, by, now or datetime.now(UTC))
        return row


def request_reopening(
    period: str, reason: str, by: AbstractBaseUser, *, now: datetime | None = None
) -> ReopenRequest:
    """Request to open the latest closed period again; another person confirms.

    Raises:
        PeriodError: it is not the latest closed period, or the reason is too short or too long.
        NotAllowed: the person may not reopen periods.
    """
    check_right(by)
    text = reason_of(reason)
    with act(by, text):
        hold_booking()
        closed = _latest(period)
        return ReopenRequest.objects.create(
            period=period,
            revision=closed.revision,
            reason=text,
            requested_by_id=by.pk,
            requested_at=now or datetime.now(UTC),
        )


def confirm_reopening(
    number: int, by: AbstractBaseUser, *, now: datetime | None = None
) -> PeriodRevision:
    """Confirm another person's request within 24 hours: the period is open again.

    Returns:
        The revision that was closed. The next close of the period is a new revision.

    Raises:
        PeriodError: it does not exist, is confirmed, its time is over, or a later month was closed.
        NotAllowed: the same person, or one who may not reopen periods.
    """
    check_right(by)
    moment = now or datetime.now(UTC)
    with act(by, f"confirm reopening {number}"):
        hold_booking()
        row = ReopenRequest.objects.select_for_update().filter(pk=number).first()
        if row is None:
            raise PeriodError(f"there is no request {number}")
        if _latest(row.period).revision != row.revision:
            raise PeriodError(f"request {number} is for an earlier revision")
        _confirm(row, by, moment)
        return reopen_period(
            row.period,
            reason=row.reason,
            by=row.requested_by,
            confirmed_by=row.confirmed_by,
            now=moment,
        )


def set_method(
    period: str, method: str, by: Actor, *, now: datetime | None = None
) -> BillingPeriod:
    """Choose the method of a period before it begins (M24).

    Raises:
        PeriodError: the period has begun, or the method does not exist.
        NotAllowed: the person may not choose methods.
    """
    check_right(by)
    try:
        chosen = Method.parse(method)
    except MethodError as error:
        raise PeriodError(str(error)) from None
    with act(by, f"method of {period}"):
        hold_booking()
        starts_at = PeriodTerms.of(period).starts_at
        if (now or datetime.now(UTC)) >= starts_at:
            raise PeriodError(
                f"{period} began on {first_day(period)}: its method cannot change. "
                "Choose one for a later month"
            )
        row, _ = BillingPeriod.objects.update_or_create(
            name=period, defaults={"method": chosen.id}
        )
        return row


def check_right(by: Actor) -> None:
    """Refuse people who are neither finance nor administrators.

    Raises:
        NotAllowed: with who may.
    """
    if isinstance(by, str):
        if by != SYSTEM:
            raise NotAllowed(f"{by!r} is not a person")
        return
    if not PERIODS.allows(scope_of(by)):
        name = by.get_username()
        raise NotAllowed(f"{name} may not do this: {PERIODS.who} may", who=PERIODS.who)


def reason_of(text: str) -> str:
    """A reason without spaces at both ends.

    Raises:
        PeriodError: it has not 10 to 200 characters, or one that cannot be seen.
    """
    reason = text.strip()
    if fault := hidden_fault(reason, has_lines=True):
        raise PeriodError(f"the reason {fault}", member="reason")
    if len(reason) not in REASON_LENGTHS:
        raise PeriodError(
            f"a reason has 10 to 200 characters; this one has {len(reason)}",
            member="reason",
        )
    return reason


def _person(by: Actor) -> AbstractBaseUser | None:
    return None if isinstance(by, str) else get_user_model().objects.get(pk=by.pk)


def _next_revision(period: str) -> int:
    """The number of the revision that the next close of a period makes.

    Raises:
        PeriodError: the period is closed.
    """
    first_day(period)
    rows = PeriodRevision.objects.filter(period=period)
    if rows.filter(closed_at__isnull=False, reopened_at=None).exists():
        raise PeriodError(f"{period} is closed")
    return rows.filter(reopened_at__isnull=False).count() + 1


def _latest(period: str) -> PeriodRevision:
    closed = latest_closed()
    if closed is None or closed.period != period:
        last = f"The latest is {closed.period}." if closed else "No month is closed."
        raise PeriodError(f"{period} is not the latest closed period. {last}")
    return closed


def _confirm(
    row: CloseOverride | ReopenRequest, by: AbstractBaseUser, now: datetime
) -> None:
    if row.confirmed_at is not None:
        raise PeriodError("it is already confirmed")
    if by.pk == row.requested_by_id:
        raise NotAllowed(
            f"{by.get_username()} requested it: another person must confirm"
        )
    if now >= row.requested_at + CONFIRM_WITHIN:
        raise PeriodError("it was requested more than 24 hours ago; request it again")
    row.confirmed_by_id = by.pk
    row.confirmed_at = now
    row.save(update_fields=["confirmed_by", "confirmed_at"])
