"""Recommendations: findings of the last four weeks, what a month could save, and decisions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from django.db.models import Max

from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.access.scope import Scope
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.interval import to_ms
from accounting.prices.rules.charge import charge_of
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.savings.models import (
    RecommendationDecision,
    RecommendationState,
    WasteDay,
)
from scheduler_view.savings.reads.ended_work import work_that_is_over
from scheduler_view.savings.reads.measured_days import measured_days
from scheduler_view.savings.reads.recommendation_row import (
    Found,
    RecommendationRow,
    Subject,
)
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import Part, readable_teams, waste_parts
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.recommend import (
    EFFORTS,
    LOWERS_QUOTA,
    NONE,
    WEEK_DAYS,
    WEEKS,
    Saving,
    WeekWaste,
    has_findings,
    measured_saving,
    saving_of,
    smaller_quota,
)

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
    reader = _SavingsReader(scope, places, teams)
    decided = {_subject_of(one): one for one in _decisions()}
    every = reader.found()
    over = {one.subject for one in work_that_is_over(every, reader.stopped_ms)}
    shown = (one for one in every if one.subject not in over or one.subject in decided)
    found = list(reader.rows(shown))
    return sorted(
        (
            row
            for row in reader.with_decisions(found, decided)
            if not states or row.state in states
        ),
        key=lambda row: (
            *(not row.is_steady, -(row.high or Decimal(0))),
            *(-row.gpus, row.subject),
        ),
    )


@dataclass(frozen=True, slots=True)
class _ClusterDays:
    """The findings of one cluster on some days, of which some are measured."""

    nothing: WeekWaste  # of a subject without findings: most, in most weeks
    rows: Mapping[tuple[Subject, str], Sequence[WasteRow]]

    def waste_of(self, subject: Subject, currency: str) -> WeekWaste:
        rows = self.rows.get((subject, currency))
        if not rows:
            return self.nothing
        return WeekWaste(
            self.nothing.days,
            sum(row.gpu_ms for row in rows),
            sum((row.raw for row in rows), NONE),
            sum((row.raw_low for row in rows), NONE),
        )


class _SavingsReader:
    """The recommendations of all clusters: weeks are read at once, and so are decisions."""

    def __init__(self, scope: Scope, places: int, teams: Collection[str]) -> None:
        self._scope, self._places, self._teams = scope, places, teams
        newest = WasteDay.objects.values_list("cluster", "cluster__name")
        found = list(newest.annotate(Max("day")).order_by("cluster__name"))
        self._names = {cluster: name for cluster, name, _ in found}
        self._after = {cluster: day + DAY for cluster, _, day in found}

    @property
    def stopped_ms(self) -> dict[int, int]:
        """Services and notebooks without a hold since then were stopped: two measured days ago."""
        return {
            cluster: to_ms(midnight(after - 2 * DAY))
            for cluster, after in self._after.items()
        }

    def _parts(self, wanted: Sequence[tuple[int, DayRange]]) -> list[_ClusterDays]:
        """Of clusters and days."""
        if not wanted:
            return []
        first = min(days.first for _, days in wanted)
        known, _ = measured_days(
            DayRange(first, max(days.after for _, days in wanted)), ()
        )
        asked: list[Part] = []
        for cluster, days in wanted:
            name = self._names[cluster]
            seen = [day for day in known[name] if days.first <= day < days.after]
            asked.append((days, cluster, {name: seen}))
        found = waste_parts(
            readable_teams(self._scope), asked, rules=tuple(EFFORTS), teams=self._teams
        )
        parts = []
        for (cluster, _), (_, _, measured), each in zip(
            wanted, asked, found, strict=True
        ):
            rows: dict[tuple[Subject, str], list[WasteRow]] = {}
            for row in each:
                rows.setdefault((_subject(cluster, row), row.currency), []).append(row)
            nothing = WeekWaste(len(measured[self._names[cluster]]), 0, NONE, NONE)
            parts.append(_ClusterDays(nothing, rows))
        return parts

    def found(self) -> list[Found]:
        """What was found in four weeks, in no order."""
        wanted = [
            (cluster, DayRange(after - (n + 1) * WEEK, after - n * WEEK))
            for cluster, after in self._after.items()
            for n in range(WEEKS)
        ]
        parts = self._parts(wanted)
        of_clusters = (parts[n : n + WEEKS] for n in range(0, len(parts), WEEKS))
        return [one for weeks in of_clusters for one in _found(weeks)]

    def rows(self, found: Iterable[Found]) -> Iterator[RecommendationRow]:
        """Their recommendations, undecided."""
        quotas = {
            (one.cluster_id, one.team_id): one
            for one in QuotaTarget.objects.filter(resource=RESOURCE, tier="")
        }
        for one in found:
            saving = saving_of(one.weeks)
            if saving is not None:
                cluster, rule, team, *_ = one.subject
                target = quotas.get((cluster, team)) if rule in LOWERS_QUOTA else None
                yield self._row(one, saving, target)

    def _row(
        self, found: Found, saving: Saving, target: QuotaTarget | None
    ) -> RecommendationRow:
        """With a smaller quota, where idle GPUs could be left to others."""
        row = found.row
        has_price = bool(row.currency)
        return RecommendationRow(
            subject=found.subject,
            row=row,
            low=charge_of(saving.low, self._places) if has_price else None,
            high=charge_of(saving.high, self._places) if has_price else None,
            gpus=saving.gpus,
            confidence=saving.confidence.value,
            effort=EFFORTS[WasteRule(row.rule)].value,
            advice=row.advice,
            quota=target.gpus if target else None,
            smaller=smaller_quota(target.gpus, saving.gpus) if target else None,
            quota_version=target.version if target else 0,
            weeks=found.weeks,
            is_steady=saving.is_steady,
            measured_days=saving.days,
        )

    def with_decisions(
        self,
        rows: Sequence[RecommendationRow],
        decided: Mapping[Subject, RecommendationDecision],
    ) -> Iterator[RecommendationRow]:
        """Rows with what was decided, and what was saved since."""
        wanted = {
            row.subject: (row.subject[0], days)
            for row in rows
            if row.subject in decided and (days := self._since(decided[row.subject]))
        }
        asked = [*dict.fromkeys(wanted.values())]
        found = dict(zip(asked, self._parts(asked), strict=True))
        for row in rows:
            one = decided.get(row.subject)
            part = found[wanted[row.subject]] if row.subject in wanted else None
            yield self._with_decision(row, one, part) if one else row

    def _since(self, decision: RecommendationDecision) -> DayRange | None:
        """Days after a decision, of which savings are measured; None without one."""
        first = billing_day(decision.decided_at) + DAY
        after = self._after[decision.cluster_id]
        is_counted = decision.state in (
            RecommendationState.ACCEPTED,
            RecommendationState.DONE,
        )
        return DayRange(first, after) if is_counted and first < after else None

    def _with_decision(
        self,
        row: RecommendationRow,
        decision: RecommendationDecision,
        since: _ClusterDays | None,
    ) -> RecommendationRow:
        name = decision.owner.get_full_name() or decision.owner.get_username()
        return replace(
            row,
            state=decision.state,
            owner=name,
            reason=decision.reason,
            decided_at=decision.decided_at,
            saved=self._saved(row, decision, since) if since else None,
        )

    def _saved(
        self,
        row: RecommendationRow,
        decision: RecommendationDecision,
        since: _ClusterDays,
    ) -> Decimal | None:
        part = since.waste_of(row.subject, row.row.currency)
        saved = measured_saving(decision.raw_per_day, part.raw, part.days)
        if saved is None or not row.row.currency:
            return None
        return charge_of(saved, self._places)


def _found(weeks: Sequence[_ClusterDays]) -> Iterator[Found]:
    """What was found in the weeks of one cluster, newest first."""
    latest: dict[tuple[Subject, str], WasteRow] = {}
    for week in reversed(weeks):
        latest |= {key: rows[-1] for key, rows in week.rows.items()}
    for (subject, currency), row in latest.items():
        if not (subject[3] or subject[4]):
            continue
        waste = tuple(week.waste_of(subject, currency) for week in weeks)
        if has_findings(waste):
            yield Found(subject, row, waste)


def _decisions() -> Iterable[RecommendationDecision]:
    return RecommendationDecision.objects.select_related("owner")


def _subject_of(one: RecommendationDecision) -> Subject:
    numbers = (one.team_id or 0, one.workload_id or 0, one.node_id or 0)
    return one.cluster_id, one.rule, *numbers


def _subject(cluster: int, row: WasteRow) -> Subject:
    team, workload, _, node, _ = row.key
    return cluster, row.rule, team, workload, node
