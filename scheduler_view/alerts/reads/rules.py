"""Rules as a person may read them: threshold, how often each would have fired, what is unseen."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from accounting.access.reads.billing_settings import billing_at
from accounting.access.scope import Scope
from scheduler_view.alerts.models import AlertCheck, AlertThreshold
from scheduler_view.alerts.reads.thresholds import limits_of
from scheduler_view.alerts.rules.catalogue import (
    RULES,
    AlertRule,
    Limits,
    RuleWords,
    threshold_text,
)

PAST = 30  # days


@dataclass(frozen=True, slots=True)
class PastDay:
    """How often a rule would have fired on one day."""

    day: date
    times: int


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One threshold of a rule: its text, and how often it would have fired; None if not known."""

    value: int
    text: str
    times: int | None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of the organization, or as it is for one team.

    Attributes:
        value: its threshold; None if it is off.
        is_own: a team's own threshold, not that of the organization.
        organization: the threshold of the organization in words; "off" if the rule is.
        choices: its thresholds.
        days: the last thirty, oldest first, with the threshold in force; empty if not known.
        is_watched: its metric is read, and is scraped as far as that is known.
        not_watched: why it cannot fire, or may not be able to; "" if it can.
        checked_at, error: when it was last looked at, and what went wrong then.
    """

    rule: AlertRule
    words: RuleWords
    value: int | None
    is_own: bool
    organization: str
    choices: Sequence[ChoiceRow]
    days: Sequence[PastDay]
    is_watched: bool
    not_watched: str
    checked_at: datetime | None
    error: str

    @property
    def when(self) -> str:
        """The condition before and after the threshold, joined by `{}`."""
        return self.words.when

    @property
    def before(self) -> str:
        """The condition up to its threshold."""
        return self.words.when.partition("{}")[0]

    @property
    def after(self) -> str:
        """The condition after its threshold."""
        return self.words.when.partition("{}")[2]

    @property
    def threshold(self) -> str:
        """The threshold in words; that of the organization if the rule is off."""
        shown = self.words.usual if self.value is None else self.value
        return next((c.text for c in self.choices if c.value == shown), "")

    @property
    def times(self) -> int | None:
        """How often it would have fired in thirty days; None if not known or off."""
        if not self.days or self.value is None:
            return None
        return sum(day.times for day in self.days)


def rule_rows(scope: Scope, at: datetime, team: int | None = None) -> Sequence[RuleRow]:
    """All rules; those about teams only, with their own thresholds, of one team.

    Args:
        team: number of a team that the person leads or may administer.
    """
    stored = [*AlertThreshold.objects.all()]
    checks = {check.rule: check for check in AlertCheck.objects.all()}
    currency = billing_at(at).currency
    return [
        _row(
            rule,
            limits_of(rule, stored),
            checks.get(rule),
            _counts(checks.get(rule), team, scope),
            team,
            currency,
        )
        for rule, words in RULES.items()
        if team is None or words.is_of_teams
    ]


def _row(
    rule: AlertRule,
    limits: Limits,
    check: AlertCheck | None,
    counts: Mapping[int, Counter[date]] | None,
    team: int | None,
    currency: str,
) -> RuleRow:
    words, value = RULES[rule], limits.of(team)
    choices = [
        ChoiceRow(
            choice,
            threshold_text(words.unit, choice, currency),
            None if counts is None else sum(counts.get(choice, Counter()).values()),
        )
        for choice in words.choices
    ]
    return RuleRow(
        rule,
        words,
        value if words.is_watched else None,
        team is not None and team in limits.teams,
        "off"
        if limits.organization is None
        else threshold_text(words.unit, limits.organization, currency),
        choices,
        _days(check, counts, value),
        words.is_watched and (check is None or check.is_seen is not False),
        _not_watched(words, check),
        check.checked_at if check else None,
        check.error if check else "",
    )


def _counts(
    check: AlertCheck | None, team: int | None, scope: Scope
) -> Mapping[int, Counter[date]] | None:
    """How often it would have fired by threshold and day; None before it was computed.

    Of one team, of all for who sees every team, else of the teams that the person leads.
    """
    if check is None or check.past_on is None:
        return None
    wanted = None if scope.sees_all else {str(one) for one in scope.lead_of}
    if team is not None:
        wanted = {str(team)}
    found: dict[int, Counter[date]] = {}
    for threshold, teams in check.past.items():
        counted = found.setdefault(int(threshold), Counter())
        for number, days in teams.items():
            if wanted is None or number in wanted:
                for day, times in days.items():
                    counted[date.fromisoformat(day)] += times
    return found


def _days(
    check: AlertCheck | None,
    counts: Mapping[int, Counter[date]] | None,
    value: int | None,
) -> Sequence[PastDay]:
    if check is None or check.past_on is None or counts is None or value is None:
        return ()
    first = check.past_on - timedelta(days=PAST)
    of_value = counts.get(value, Counter[date]())
    days = [first + timedelta(days=n) for n in range(PAST)]
    return [PastDay(day, of_value[day]) for day in days]


def _not_watched(words: RuleWords, check: AlertCheck | None) -> str:
    if not words.is_watched:
        return f"Not watched: {words.metric} is not read."
    if check is not None and check.is_seen is False:
        return f"Not watched: {words.metric} is not scraped."
    if words.metric and (check is None or check.is_seen is None):
        return (
            f"Fires only if {words.metric} is scraped. No GPU has reported it so far."
        )
    return ""
