"""Alerts that a person may read, and how many of them are new."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import overload

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.http import urlencode

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.unmapped import UNMAPPED
from accounting.kit.rows import Moment, TextOrNull, column, listed, member
from scheduler_view.alerts.models import Alert, AlertNote, AlertTold
from scheduler_view.alerts.reads.watches import WATCHES
from scheduler_view.alerts.rules.catalogue import (
    NOT_SPENT,
    RULES,
    AlertRule,
    RuleWords,
)
from scheduler_view.alerts.rules.states import (
    NEW_FOR,
    AlertMark,
    AlertStanding,
    AlertState,
    Resolution,
    state_of,
)

KEPT = timedelta(days=90)  # of resolved ones on the page and over REST
NEW = (AlertState.NEW, AlertState.WORSE, AlertState.AGAIN)
LASTING = (*NEW, AlertState.ONGOING)

# How many are new, worse or back again, as one expression of the statement of the navigation
# (`inbox/reads.py`).
COUNT = (
    "SELECT count(*) FROM scheduler_view_alert"
    " WHERE resolved_at IS NULL AND archived_figure IS NULL"
    " AND marked_at > %(alerts_since)s AND (%(finance)s OR team_id = ANY(%(led)s))"
)


@listed("Alert", detail="One of them.")
class AlertItem:
    """One cause that needs, or needed, a person.

    Attributes:
        rule: of `RULES`.
        since: when the cause began.
        fired_at: when it reached the threshold, by the data.
        seen_at: when it was last found.
        amount: what it has cost, or is at stake; None without a price.
        times: how often it has fired; 1 for the first time.
        archived_by, archived_reason: of the one who archived it; "" if nobody did.
        may_act: the reader may use the page to which its button leads.
    """

    id: int = column()
    rule: str = column("its name: `idle`, `budget`, ...")
    state: str = column("new, worse, again, ongoing, archived or resolved")
    what: str = column(head="Cause")
    about: TextOrNull = column()
    team: TextOrNull = column("null for what is nobody's")
    since: Moment = column()
    fired_at: Moment = column("when it reached its threshold, by the data")
    seen_at: Moment = column("when it was last found")
    amount: Decimal | None = column("null without a price")
    per_hour: Decimal | None = column()
    currency: TextOrNull = column()
    times: int = column("how often it has fired")
    archived_by: TextOrNull = column()
    archived_reason: TextOrNull = column()
    resolved_at: Moment | None = column()
    resolution: TextOrNull = column(choices=["", *Resolution])

    @member("what a person does about it", name="action")
    def does(self) -> str:
        """The text of its button."""
        return (
            self.words.does if self.may_act else WATCHES[AlertRule(self.rule)].reads[0]
        )

    @member("the page where it is done")
    def url(self) -> str:
        """Its address without the host; that of the alerts if there is none by now."""
        watch = WATCHES[AlertRule(self.rule)]
        if not self.may_act:
            return reverse(watch.reads[1])
        route = watch.route
        try:
            path = reverse(route, args=[*self.place])
        except NoReverseMatch:  # a name that no address can contain
            return reverse("alerts")
        return f"{path}?{urlencode(self.query)}" if self.query else path

    team_name: str
    team_slot: int
    figure: Decimal
    place: Sequence[str | int]
    query: Mapping[str, str]
    may_act: bool

    @property
    def words(self) -> RuleWords:
        """Its rule in words."""
        return RULES[AlertRule(self.rule)]

    @property
    def label(self) -> str:
        """The name of its rule."""
        return self.words.label

    @property
    def is_new(self) -> bool:
        """Whether it is new, worse or back again."""
        return self.state in NEW

    @property
    def lasted_ms(self) -> int:
        """From its begin to when it was last found; work waits only as far as it was observed."""
        if self.rule == AlertRule.WAIT:
            return int(self.figure)
        return int((self.seen_at - self.since).total_seconds() * 1000)


def alert_rows(
    scope: Scope,
    states: Collection[AlertState],
    *,
    teams: Collection[str] = (),
    rule: str = "",
    at: datetime | None = None,
) -> "AlertRows":
    """Alerts of a person in some states: new ones first, then the dearest; the latest resolved.

    Args:
        teams: slugs; only what is about one of them.
        rule: only of this one.
        at: the moment; now without it.
    """
    at = at or timezone.now()
    found = _visible(scope).filter(_stored(states))
    if teams:
        found = found.filter(_of_teams(teams))
    if rule:
        found = found.filter(rule=rule)
    if AlertState.RESOLVED in states:
        found = found.filter(Q(resolved_at=None) | Q(resolved_at__gte=at - KEPT))
    return AlertRows(found, scope, at)


@dataclass(frozen=True)
class NewAlerts:
    """Of some alerts those that are new, worse or back again.

    Attributes:
        rules: how many of each rule, most first.
        dearest: of those whose money is spent; None if none is.
    """

    count: int
    rules: Sequence[tuple[AlertRule, int]]
    dearest: AlertItem | None


class AlertRows(Sequence[AlertItem]):
    """Alerts in their order, of which the database reads what is asked for: a page of them.

    Args:
        scope: of the reader, to whose pages the buttons lead.
    """

    def __init__(self, alerts: QuerySet[Alert], scope: Scope, at: datetime) -> None:
        self._scope, self._at = scope, at
        self._is_new = Q(
            resolved_at=None, archived_figure=None, marked_at__gt=at - NEW_FOR
        )
        self._alerts = alerts.annotate(
            _is_old=Case(When(self._is_new, then=Value(0)), default=Value(1))
        ).order_by(
            F("resolved_at").desc(nulls_first=True),
            "_is_old",
            F("amount").desc(nulls_last=True),
            "since",
            "pk",
        )

    @cached_property
    def _count(self) -> int:
        return self._alerts.count()

    def __len__(self) -> int:
        """How many there are; one query."""
        return self._count

    @overload
    def __getitem__(self, place: int) -> AlertItem: ...
    @overload
    def __getitem__(self, place: slice) -> list[AlertItem]: ...
    def __getitem__(self, place: int | slice) -> AlertItem | list[AlertItem]:
        """One of them, or some; two queries."""
        if isinstance(place, int):
            return self[place : place + 1][0]
        found = [*self._alerts[place]]
        notes = _notes(found)
        return [
            _row(alert, notes.get(alert.pk), self._scope, self._at) for alert in found
        ]

    def __iter__(self) -> Iterator[AlertItem]:
        """All of them."""
        yield from self[:]

    def new(self) -> NewAlerts:
        """Those that are new; two queries."""
        found = self._alerts.filter(self._is_new)
        counts = found.order_by().values_list("rule").annotate(n=Count("pk"))
        rules = sorted(
            ((AlertRule(rule), n) for rule, n in counts), key=lambda one: -one[1]
        )
        dearest = found.filter(amount__gt=0).exclude(rule__in=NOT_SPENT).first()
        return NewAlerts(
            sum(n for _, n in rules),
            rules,
            _row(dearest, None, self._scope, self._at) if dearest else None,
        )


def untold_alerts(scope: Scope, person: int, since: datetime) -> QuerySet[Alert]:
    """Alerts of a person that last, were marked after a moment, and that they were not told of."""
    told = AlertTold.objects.filter(
        person=person, alert=OuterRef("pk"), marked_at=OuterRef("marked_at")
    )
    found = _visible(scope).filter(_stored(LASTING), marked_at__gt=since)
    return found.exclude(Exists(told))


def alert_row(scope: Scope, number: int) -> AlertItem | None:
    """One alert in any state; None if the person may not read it."""
    alert = _visible(scope).filter(pk=number).first()
    if alert is None:
        return None
    note = AlertNote.objects.filter(alert=alert).select_related("by").first()
    return _row(alert, note, scope, timezone.now())


def _visible(scope: Scope) -> QuerySet[Alert]:
    """All of them for who sees every team, those of their teams for leads."""
    alerts = Alert.objects.select_related("team")
    return alerts if scope.sees_all else alerts.filter(team__in=scope.lead_of)


def _stored(states: Collection[AlertState]) -> Q:
    found = Q(pk__in=[])
    if AlertState.RESOLVED in states:
        found |= Q(resolved_at__isnull=False)
    if AlertState.ARCHIVED in states:
        found |= Q(resolved_at=None, archived_figure__isnull=False)
    if not set(LASTING).isdisjoint(states):
        found |= Q(resolved_at=None, archived_figure=None)
    return found


def _of_teams(slugs: Collection[str]) -> Q:
    found = Q(team__slug__in=slugs)
    return found | Q(team=None) if UNMAPPED in slugs else found


def _notes(alerts: Iterable[Alert]) -> Mapping[int, AlertNote]:
    """The newest note of each archived alert."""
    archived = [one.pk for one in alerts if one.archived_figure is not None]
    if not archived:
        return {}
    notes = AlertNote.objects.filter(alert__in=archived).select_related("by")
    return {note.alert_id: note for note in notes.order_by("id")}


def _row(alert: Alert, note: AlertNote | None, scope: Scope, at: datetime) -> AlertItem:
    standing = AlertStanding(
        AlertMark(alert.mark),
        alert.marked_at,
        alert.marked_figure,
        alert.unit,
        archived_figure=alert.archived_figure,
        resolved_at=alert.resolved_at,
    )
    team: Team | None = alert.team
    is_archived = alert.archived_figure is not None and note is not None
    by = note.by if is_archived and note else None
    return AlertItem(
        id=alert.pk,
        rule=alert.rule,
        state=state_of(standing, at).value,
        what=alert.what,
        about=alert.about,
        team=team.slug if team else "",
        team_name=team.name if team else "No team",
        team_slot=team.colour_slot if team else 0,
        since=alert.since,
        fired_at=alert.fired_at,
        seen_at=alert.seen_at,
        amount=alert.amount,
        per_hour=alert.per_hour,
        currency=alert.currency,
        times=alert.times,
        archived_by=(by.get_full_name() or by.get_username()) if by else "",
        archived_reason=note.reason if by and note else "",
        resolved_at=alert.resolved_at,
        resolution=alert.resolution,
        figure=alert.figure,
        place=alert.place,
        query=alert.query,
        may_act=WATCHES[AlertRule(alert.rule)].right.allows(scope),
    )
