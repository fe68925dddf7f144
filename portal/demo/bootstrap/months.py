"""The demo's closed month: closed by two people, contested, and corrected by a late price list.

Everything goes through the product: overrides with reasons, the close, contests with an answer, a
price. It runs when the whole history is computed, once.
"""

from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.auth import get_user_model

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.access.scope import EVERYTHING
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.usage import UsageDay
from accounting.months.actions import periods
from accounting.months.actions.contests import (
    AnswerContest,
    answer_contest,
    open_contest,
)
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.contested import subjects
from accounting.months.reads.lines import booking_of
from accounting.months.reads.statement_document import document
from accounting.months.reads.statements import statement_row
from accounting.months.rules.close_checks import SETTLED_HOURS
from accounting.months.tasks.checks.of_close import run_checks
from accounting.months.tasks.keep import book_changed
from accounting.months.tasks.periods import PeriodTerms, latest_closed, previous_period
from accounting.prices.actions.prices import set_unit_price
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from portal.demo.bootstrap import bill
from portal.demo.bootstrap.setup import CLUSTER, PEOPLE

ADMIN, FINANCE = PEOPLE[0].name, PEOPLE[1].name
REASONS = {
    "coverage": "The exporters of two nodes were down; their logs show no change of use.",
    "unpriced": "The RTX A6000 nodes are on loan and have no price until they are bought.",
    "unmapped": "The hackathon is paid by the platform this year.",
    "windows": "The missing windows are before the first sample of the cluster.",
}
OTHER_REASON = "Checked by hand in the monthly review."
LATE_MODEL, LATE_RATE = "NVIDIA-L4", Decimal("0.70")
LATE_DAYS = 7  # of the closed month; the rate was 0.74
LEAD, CREDIT = PEOPLE[2], Decimal("-150.00")
CONTESTS = (
    "Two nodes were not usable for a morning; our jobs only waited.",
    "These GPUs were drained for the driver update in the last week.",
)
ANSWER = "The logs of both nodes show it."


def close_settled_month(now: datetime) -> str:
    """Close the last month that has settled, then change what it was closed with.

    Returns:
        What was done; empty if it was done before, if no month of the history has settled, or if
        something blocks that people cannot override.
    """
    if PeriodRevision.objects.filter(closed_at__isnull=False).exists():
        return ""
    period = settled_month(now)
    if not period or not _close(period, now):
        return ""
    finance = get_user_model().objects.get(username=FINANCE)
    bill.import_month(PeriodTerms.of(period), finance, now)
    _contest(period, now)
    _correct(period, now)
    return f"{period} is closed, contested, and corrected since"


def settled_month(now: datetime) -> str:
    """The last month that ended 72 hours ago and has usage; a part of a month is enough (M28)."""
    period = previous_period(f"{billing_day(now):%Y-%m}")
    if now < PeriodTerms.of(period).ends_at + timedelta(hours=SETTLED_HOURS):
        period = previous_period(period)
    terms = PeriodTerms.of(period)
    has_usage = UsageDay.objects.filter(
        billing_on__gte=terms.first, billing_on__lt=terms.after
    ).exists()
    return period if has_usage else ""


def _close(period: str, now: datetime) -> bool:
    people = get_user_model().objects
    finance, admin = people.get(username=FINANCE), people.get(username=ADMIN)
    blocking = [one for one in run_checks(period, now) if one.is_blocking]
    if not all(one.is_overridable for one in blocking):
        return False
    for check in blocking:
        reason = REASONS.get(check.code, OTHER_REASON)
        asked = periods.request_override(period, check.code, reason, finance, now=now)
        periods.confirm_override(asked.pk, admin, now=now)
    periods.close(period, finance, now=now)
    return latest_closed() is not None


def _contest(period: str, now: datetime) -> None:
    """A lead contests two amounts; finance answers one of them with a credit."""
    people = get_user_model().objects
    lead, finance = people.get(username=LEAD.name), people.get(username=FINANCE)
    booking = booking_of(period)
    row = statement_row(booking, EVERYTHING, LEAD.team)
    if row is None:
        return
    whole, largest, *_ = subjects(row, document(booking, row))
    team = Team.objects.get(slug=LEAD.team)
    asked = open_contest(
        team, period, CONTESTS[0], lead, of=whole.of, key=whole.key, now=now
    )
    credit = AnswerContest(
        answer="entry", amount=CREDIT, day=billing_day(now), reason=ANSWER
    )
    answer_contest(asked.pk, credit, finance, now=now)
    open_contest(
        team, period, CONTESTS[1], lead, of=largest.of, key=largest.key, now=now
    )


def _correct(period: str, now: datetime) -> None:
    """A lower price for the end of the closed month."""
    people = get_user_model().objects
    terms = PeriodTerms.of(period)
    set_unit_price(
        model=LATE_MODEL,
        rate_per_gpu_hour=LATE_RATE,
        cost_per_gpu_hour=None,
        currency=terms.currency,
        valid_from=midnight(terms.after - timedelta(days=LATE_DAYS)),
        source_note="Price list that arrived after the close",
        actor=people.get(username=ADMIN),
        reason="The new price list for L4 arrived after the close.",
    )
    for cluster in Cluster.objects.filter(name=CLUSTER):
        roll_up_dirty_hours(cluster.pk)
    book_changed(now)
