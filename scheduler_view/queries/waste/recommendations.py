"""Recommendations: findings of the last four weeks, what a month could save, and decisions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from django.db.models import Max

from accounting.access import Scope
from accounting.domain.billing.charge import charge_of
from accounting.domain.core.billing_calendar import DAY, DayRange
from accounting.domain.core.interval import to_ms
from accounting.models import Cluster
from accounting.rating.billing_settings import billing_day, midnight
from scheduler_view.domain.waste.finding import WasteRule
from scheduler_view.domain.waste.recommend import (
    EFFORTS,
    LOWERS_QUOTA,
    WEEK_DAYS,
    WEEKS,
    Saving,
    WeekWaste,
    measured_saving,
    saving_of,
    smaller_quota,
)
from scheduler_view.models import (
    QuotaTarget,
    RecommendationDecision,
    RecommendationState,
    WasteDay,
)
from scheduler_view.queries.waste.ended_work import work_that_is_over
from scheduler_view.queries.waste.recommendation_row import RecommendationRow, Subject
from scheduler_view.queries.waste.row import WasteRow
from scheduler_view.queries.waste.rows import WasteReport, waste_report

RESOURCE = "nvidia.com/gpu"
WEEK = timedelta(days=WEEK_DAYS)


def recommendation_rows(
    scope: Scope,
    places: int,
    *,
    teams: Collection[str] = (),
    states: Collection[str] = (),
) -> list[RecommendationRow]:
    """Recommendations that a person may read, largest saving first.

    Work without a workload, work that is over, and decisions whose findings are older than four
    weeks, are left out.

    Args:
        places: decimal places of amounts.
        teams, states: only these; empty for all.
    """
    found: list[RecommendationRow] = []
    decided = {_subject_of(one): one for one in _decisions()}
    quotas = {
        (one.cluster_id, one.team_id): one
        for one in QuotaTarget.objects.filter(resource=RESOURCE, tier="")
    }
    for cluster in Cluster.objects.order_by("name"):
        reader = _SavingsReader(scope, cluster, places, teams)
        rows = list(reader.rows())
        over = work_that_is_over(rows, reader.stopped_ms)
        for one in rows:
            if one.token in over and one.subject not in decided:
                continue
            target = quotas.get((cluster.pk, one.subject[2]))
            row = _with_quota(one, target) if target else one
            decision = decided.get(row.subject)
            found.append(reader.with_decision(row, decision) if decision else row)
    return sorted(
        (row for row in found if not states or row.state in states),
        key=lambda row: (
            *(not row.is_steady, -(row.high or Decimal(0))),
            *(-row.gpus, row.subject),
        ),
    )


class _SavingsReader:
    """The recommendations of one cluster."""

    def __init__(
        self, scope: Scope, cluster: Cluster, places: int, teams: Collection[str]
    ) -> None:
        self._scope, self._cluster = scope, cluster
        self._places, self._teams = places, teams
        self._since: dict[date, WasteReport] = {}
        newest: date | None = WasteDay.objects.filter(cluster=cluster).aggregate(
            day=Max("day")
        )["day"]
        self._after = None if newest is None else newest + DAY

    def _report(self, days: DayRange) -> WasteReport:
        return waste_report(
            self._scope,
            days,
            self._places,
            clusters=[self._cluster.name],
            teams=self._teams,
        )

    @property
    def stopped_ms(self) -> int:
        """Services and notebooks without a hold since then were stopped: two measured days ago."""
        if self._after is None:
            return 0
        return to_ms(midnight(self._after - 2 * DAY))

    def rows(self) -> Iterable[RecommendationRow]:
        """Undecided, in no order."""
        if self._after is None:
            return
        after = self._after
        weeks = [
            self._report(DayRange(after - (n + 1) * WEEK, after - n * WEEK))
            for n in range(WEEKS)
        ]
        latest: dict[tuple[Subject, str], WasteRow] = {}
        for report in reversed(weeks):
            latest |= {(self._subject(row), row.currency): row for row in report.each}
        for (subject, currency), row in latest.items():
            rule = WasteRule(row.rule)
            if rule not in EFFORTS or not (subject[3] or subject[4]):
                continue
            saving = saving_of([self._week(week, subject, currency) for week in weeks])
            if saving is not None:
                yield self._row(subject, row, saving, weeks)

    def _week(self, report: WasteReport, subject: Subject, currency: str) -> WeekWaste:
        rows = [
            row
            for row in report.each
            if self._subject(row) == subject and row.currency == currency
        ]
        raw = sum((Fraction(row.raw) for row in rows), Fraction(0))
        low = sum((Fraction(row.raw_low) for row in rows), Fraction(0))
        return WeekWaste(report.measured, sum(row.gpu_ms for row in rows), raw, low)

    def _row(
        self,
        subject: Subject,
        row: WasteRow,
        saving: Saving,
        weeks: Sequence[WasteReport],
    ) -> RecommendationRow:
        rule = WasteRule(row.rule)
        has_price = bool(row.currency)
        parts = [self._week(week, subject, row.currency) for week in weeks]
        days = sum(part.days for part in parts)
        raw = sum((part.raw for part in parts), Fraction(0)) / days
        return RecommendationRow(
            subject,
            row,
            charge_of(saving.low, self._places) if has_price else None,
            charge_of(saving.high, self._places) if has_price else None,
            saving.gpus,
            saving.confidence.value,
            EFFORTS[rule].value,
            row.advice,
            _six_places(raw),
            tuple(parts),
            saving.is_steady,
            saving.days,
        )

    def _subject(self, row: WasteRow) -> Subject:
        team, workload, _, node, _ = row.key
        return self._cluster.pk, row.rule, team, workload, node

    def with_decision(
        self, row: RecommendationRow, decision: RecommendationDecision
    ) -> RecommendationRow:
        """A row with what was decided, and what was saved since."""
        name = decision.owner.get_full_name() or decision.owner.get_username()
        return replace(
            row,
            state=decision.state,
            owner=name,
            reason=decision.reason,
            decided_at=decision.decided_at,
            saved=self._saved(row, decision),
        )

    def _saved(
        self, row: RecommendationRow, decision: RecommendationDecision
    ) -> Decimal | None:
        first = billing_day(decision.decided_at) + DAY
        is_counted = decision.state in (
            RecommendationState.ACCEPTED,
            RecommendationState.DONE,
        )
        if not is_counted or self._after is None or first >= self._after:
            return None
        if first not in self._since:
            self._since[first] = self._report(DayRange(first, self._after))
        part = self._week(self._since[first], row.subject, row.row.currency)
        before = Fraction(decision.raw_per_day)
        saved = measured_saving(before, part.raw, part.days)
        if saved is None or not row.row.currency:
            return None
        return charge_of(saved, self._places)


def _with_quota(row: RecommendationRow, target: QuotaTarget) -> RecommendationRow:
    """A row with a smaller quota, where idle GPUs could be left to others."""
    if WasteRule(row.row.rule) not in LOWERS_QUOTA:
        return row
    smaller = smaller_quota(target.gpus, row.gpus)
    return replace(
        row, quota=target.gpus, smaller=smaller, quota_version=target.version
    )


def _decisions() -> Iterable[RecommendationDecision]:
    return RecommendationDecision.objects.select_related("owner")


def _subject_of(one: RecommendationDecision) -> Subject:
    numbers = (one.team_id or 0, one.workload_id or 0, one.node_id or 0)
    return one.cluster_id, one.rule, *numbers


def _six_places(raw: Fraction) -> Decimal:
    return (Decimal(raw.numerator) / Decimal(raw.denominator)).quantize(
        Decimal("0.000001")
    )
