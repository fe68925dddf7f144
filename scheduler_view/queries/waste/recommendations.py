"""Recommendations: findings of the last four weeks, what a month could save, and decisions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from django.db.models import Max

from accounting.access import Scope
from accounting.domain.billing.charge import charge_of
from accounting.domain.core.billing_calendar import DAY, DayRange
from accounting.models import Cluster
from accounting.rating.billing_settings import billing_day
from scheduler_view.domain.waste.finding import WasteRule
from scheduler_view.domain.waste.recommend import (
    EFFORTS,
    LOWERS_QUOTA,
    WEEK_DAYS,
    WEEKS,
    Saving,
    WeekWaste,
    is_current,
    measured_saving,
    saving_of,
    smaller_quota,
    weeks_together,
)
from scheduler_view.models import (
    QuotaTarget,
    RecommendationDecision,
    RecommendationState,
    WasteDay,
)
from scheduler_view.queries.waste.ended_work import RUNS_AGAIN, without_holds
from scheduler_view.queries.waste.row import WasteRow
from scheduler_view.queries.waste.rows import WasteReport, waste_report

RESOURCE = "nvidia.com/gpu"
Subject = tuple[int, str, int, int, int]  # cluster, rule, team, workload, node; 0: none
WEEK = timedelta(days=WEEK_DAYS)


@dataclass(frozen=True, slots=True)
class RecommendationRow:
    """What could be saved at one work unit or node, and what was decided.

    Attributes:
        subject: identifies it in forms.
        row: its findings in the week in which it was found last.
        low, high: what a month could save, in the least and most wasteful week; None without a
            price.
        saved: what a month saves since the decision; None until a week of it is measured.
        weeks: its findings by week, newest first.
        is_steady: its weeks are alike enough to claim a saving of a month.
        quota, smaller: the team's quota and what it could be; None where that makes no sense.
        quota_version: of the quota.
    """

    subject: Subject
    row: WasteRow
    low: Decimal | None
    high: Decimal | None
    gpus: Fraction
    confidence: str
    effort: str
    advice: str
    raw_per_day: Decimal
    weeks: tuple[WeekWaste, ...] = ()
    is_steady: bool = True
    state: str = RecommendationState.OPEN
    owner: str = ""
    reason: str = ""
    decided_at: datetime | None = None
    saved: Decimal | None = None
    quota: int | None = None
    smaller: int | None = None
    quota_version: int = 0

    @property
    def token(self) -> str:
        """The subject as text."""
        return ":".join(map(str, self.subject))

    @property
    def is_open(self) -> bool:
        """True if nobody has decided yet."""
        return self.state == RecommendationState.OPEN


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
        over = _over(rows)
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


def _over(rows: Sequence[RecommendationRow]) -> set[str]:
    """Tokens of rows about work that is over: nothing can be given back.

    It holds nothing now, and neither does its family; and it was not found in the newest week, or
    nothing makes its pods again.
    """
    ended = without_holds({row.subject[3] for row in rows} - {0})
    found = set()
    for family in families(rows):
        if any(row.subject[3] not in ended for row in family):
            continue
        is_alone = len(family) == 1 and family[0].row.kind not in RUNS_AGAIN
        weeks = weeks_together([row.weeks for row in family])
        if is_alone or not is_current(weeks):
            found |= {row.token for row in family}
    return found


def families(
    rows: Iterable[RecommendationRow],
) -> list[list[RecommendationRow]]:
    """Rows of one rule, state and currency about work of one family, in their order."""
    found: dict[tuple[object, ...], list[RecommendationRow]] = {}
    for one in rows:
        key = (
            *(one.subject[:3], one.subject[4], one.row.namespace, one.row.family),
            *(one.state, one.row.currency),
        )
        found.setdefault(key, []).append(one)
    return list(found.values())


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
