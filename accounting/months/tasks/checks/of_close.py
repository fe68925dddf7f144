"""The checks of a close: what blocks it, and what finance should know (money.md M27, M28)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from accounting.access.models.teams import Team
from accounting.core.span_text import hours_in_words
from accounting.months.models.close import CloseOverride
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.revisions import next_revision
from accounting.months.rules.close_checks import (
    RULES,
    Cause,
    CloseCheck,
    Level,
    Override,
)
from accounting.months.tasks.checks import amounts, ledger
from accounting.months.tasks.checks.ledger import Causes
from accounting.months.tasks.checks.registered import REGISTERED
from accounting.months.tasks.checks.remedies import link_of
from accounting.months.tasks.periods import PeriodTerms

_PASSED = {
    "over": "the period is over",
    "settled": "the period has been over for 72 hours",
    "order": "every earlier month is closed",
    "windows": "every window is computed",
    "hours": "every hour is rolled up",
    "conservation": "time and money of all GPUs are in the lines",
    "coverage": "at least 99% of the held time of each cluster was observed",
    "unpriced": "all time has a price",
    "unconverted": "all prices have a conversion",
    "unmapped": "at most 1% of the charge of held time belongs to no team",
    "entries": "no entry is of a month before the first close",
    "without_gpus": "pods held GPUs only on nodes with GPUs",
    "never_sampled": "all GPUs present for more than an hour were sampled",
    "unmapped_any": "all held time belongs to a team",
    "team_coverage": "at least 95% of the held time of each team was observed",
    "dark": "for at most 1% of the time it is unknown whether a pod held the GPU",
    "estimated": "at most 10% of the held time was estimated",
    "contests": "no contest of this month or an earlier one waits for an answer",
    "bills": "every bill of the month is final, or there are none",
    "moved": "the total of a day is within 30% of the month before",
}
_FAILED = {
    "over": "the period ends in {value}",
    "settled": "the period has been over for {value}; wait for 72 hours",
    "order": "close {subjects} first",
    "windows": "{value} windows are not computed: {subjects}",
    "hours": "{value} hours are not rolled up: {subjects}",
    "conservation": "time or money does not add up: {subjects}",
    "coverage": "less than 99% of the held time was observed: {subjects}",
    "unpriced": "time has no price: {subjects}",
    "unconverted": "prices have no conversion: {subjects}",
    "unmapped": "{value} of the charge of held time belongs to no team",
    "entries": "no statement would have these entries, because the first close leaves out their "
    "months: {subjects}. Close those months first, or undo and enter them again",
    "without_gpus": "pods held GPUs on nodes without any: {subjects}",
    "never_sampled": "GPUs were never sampled: {subjects}",
    "unmapped_any": "{value} of held time belong to no team",
    "team_coverage": "less than 95% of the held time was observed: {subjects}",
    "dark": "for {value} of the time it is unknown whether a pod held the GPU",
    "estimated": "{value} of the held time was estimated",
    "contests": "contests wait for an answer: {subjects}",
    "bills": "the cost is not final: {subjects}",
    "moved": "the total of a day with data differs by {value} from {subjects}",
}
_FAILED_ONE = {  # where the value is 1
    "windows": "1 window is not computed: {subjects}",
    "hours": "1 hour is not rolled up: {subjects}",
}
_NOT_OVER = "the period is not over; wait for 72 hours after its end"
_BETWEEN = dict.fromkeys(
    ("bills", "contests", "without_gpus", "never_sampled"), ": "
)  # a cause and its value in a message; a space in others
MOST_NAMED = 5  # causes in a message


def run_checks(
    period: str, now: datetime | None = None, *, lines: str | None = None
) -> tuple[CloseCheck, ...]:
    """Every check of a period, in the order of `RULES`.

    Args:
        period: YYYY-MM.
        now: the time of the close.
        lines: a table of the booking that was computed in this transaction, whose days are
            compared with their facts, too; without one the lines are computed from the rollups,
            without entries and corrections.

    Raises:
        PeriodError: the text is not a month.
    """
    terms = PeriodTerms.of(period)
    usage = usage_causes(terms, lines)
    return _checks(terms, now or datetime.now(UTC), usage)


def shown_checks(period: str, now: datetime) -> tuple[CloseCheck, ...]:
    """Every check as pages show it: what reads usage is as of the running booking (M27).

    Before the first booking it is read now.

    Raises:
        PeriodError: the text is not a month.
    """
    terms = PeriodTerms.of(period)
    running = PeriodRevision.objects.filter(period=period, reopened_at=None)
    found = running.values_list("causes", flat=True).first()
    usage = {
        code: [Cause(subject, Decimal(value)) for subject, value in some]
        for code, some in (found or {}).items()
    }
    return _checks(terms, now, usage or usage_causes(terms))


def causes_to_store(terms: PeriodTerms) -> dict[str, list[tuple[str, str]]]:
    """What `shown_checks` reads of a running booking: each cause as two texts, by code."""
    return {
        code: [(cause.subject, str(cause.value)) for cause in some]
        for code, some in usage_causes(terms).items()
    }


def usage_causes(terms: PeriodTerms, lines: str | None = None) -> Causes:
    """What the checks that read usage found; `lines` as of `run_checks`."""
    money = amounts.causes(terms, lines)
    time = ledger.usage_causes(terms, reads_facts=lines is not None)
    both = money.keys() & time.keys()
    return {**money, **time, **{code: [*money[code], *time[code]] for code in both}}


def _checks(terms: PeriodTerms, now: datetime, usage: Causes) -> tuple[CloseCheck, ...]:
    others = {code: read(terms) for code, read in REGISTERED.items()}
    found = {**usage, **others, **ledger.state_causes(terms, now)}
    overrides = overrides_of(terms.name, now)
    return tuple(_check(code, found[code], overrides, terms.name) for code in RULES)


def is_too_early(period: str, now: datetime) -> bool:
    """Whether a period has not ended, or an earlier one must be closed first."""
    found = ledger.timing(PeriodTerms.of(period), now)
    return any(
        RULES[code].fails(cause.value)
        for code in ("over", "order")
        for cause in found[code]
    )


def early_checks(period: str, now: datetime | None = None) -> tuple[CloseCheck, ...]:
    """Only the checks of time: whether the period is over, has settled, and is the next one.

    They take milliseconds; the others read the usage of the period.

    Raises:
        PeriodError: the text is not a month.
    """
    moment = now or datetime.now(UTC)
    found = ledger.timing(PeriodTerms.of(period), moment)
    overrides = overrides_of(period, moment)
    return tuple(
        _check(code, found[code], overrides, period) for code in RULES if code in found
    )


def overrides_of(period: str, now: datetime) -> list[Override]:
    """The overrides of a period's next close that are confirmed or may be, newest first."""
    rows = (
        CloseOverride.objects.filter(period=period, revision=next_revision(period))
        .select_related("requested_by", "confirmed_by")
        .order_by("-id")
    )
    found = [override_of(row) for row in rows]
    return [one for one in found if one.is_open(now)]


def override_of(row: CloseOverride) -> Override:
    """The values of a stored override."""
    return Override(
        id=row.pk,
        code=row.code,
        reason=row.reason,
        requested_by=row.requested_by.get_username(),
        requested_at=row.requested_at,
        seen={subject: Decimal(value) for subject, value in row.seen.items()},
        confirmed_by=row.confirmed_by.get_username() if row.confirmed_by else "",
        confirmed_at=row.confirmed_at,
    )


def _check(
    code: str, found: Sequence[Cause], overrides: Sequence[Override], period: str
) -> CloseCheck:
    rule = RULES[code]
    every = sorted(
        found, key=lambda c: (c.value if rule.is_lower_worse else -c.value, c.subject)
    )
    failed = tuple(cause for cause in every if rule.fails(cause.value))
    value = _value(code, every)
    check = CloseCheck(
        code=code,
        level=rule.fails_as if failed else Level.PASSED,
        is_overridable=rule.is_overridable,
        value=value,
        threshold=rule.threshold,
        unit=rule.unit,
        message=_failed(code, value, failed) if failed else _PASSED[code],
        link=link_of(code, period, [cause.subject for cause in failed]),
        causes=failed,
    )
    holding = [one for one in overrides if one.code == code and one.covers(failed)]
    confirmed = [one for one in holding if one.is_confirmed]
    chosen = next(iter([*confirmed, *holding]), None)
    return replace(check, override=chosen if failed else None)


def _failed(code: str, value: Decimal, causes: Sequence[Cause]) -> str:
    if code == "settled" and value < 0:
        return _NOT_OVER
    text = _FAILED_ONE.get(code, "") if value == 1 else ""
    text = text or _FAILED[code]
    return text.format(value=_text(code, value), subjects=_subjects(code, causes))


_SUMMED = {
    *("order", "windows", "hours", "conservation"),
    *("unpriced", "unconverted", "contests", "bills", "entries"),
}


def _value(code: str, causes: Sequence[Cause]) -> Decimal:
    if code in _SUMMED:
        return sum((cause.value for cause in causes), Decimal(0))
    if causes:
        return causes[0].value
    return Decimal(1) if RULES[code].is_lower_worse else Decimal(0)


def _subjects(code: str, causes: Sequence[Cause]) -> str:
    names = _team_names() if code in {"contests", "team_coverage"} else {}
    named = [
        cause.subject
        if code in {"order", "conservation", "entries", "moved"}
        else f"{names.get(cause.subject, cause.subject)}{_BETWEEN.get(code, ' ')}"
        f"{_text(code, cause.value)}"
        for cause in causes[:MOST_NAMED]
    ]
    rest = len(causes) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")


def _team_names() -> dict[str, str]:
    return dict(Team.objects.values_list("slug", "name"))


def _text(code: str, value: Decimal) -> str:
    match RULES[code].unit:
        case "share":
            return f"{value * 100:.2f}%"
        case "ms":
            return f"{value / 3_600_000:,.2f} GPU-hours"
        case "hours":
            return hours_in_words(value)
    return f"{value:,f}"
