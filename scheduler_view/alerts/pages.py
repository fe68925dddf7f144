"""Alerts with their sentence, the archive, what was resolved, and rules with thresholds."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.access.rights import ALERTS as READ
from accounting.access.scope import Scope
from accounting.kit.forms import AccessibleForm
from accounting.kit.inputs import REASON
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.pages.declared import form_page
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import FORM, page, visitor_of
from accounting.kit.reads.selection import check_word
from scheduler_view.alerts.actions import may_set, set_threshold
from scheduler_view.alerts.reads.alerts import (
    KEPT,
    LASTING,
    AlertItem,
    AlertRows,
    alert_rows,
)
from scheduler_view.alerts.reads.rules import PAST, ChoiceRow, RuleRow, rule_rows
from scheduler_view.alerts.resource import ALERTS, ARCHIVE, RESTORE
from scheduler_view.alerts.rules.catalogue import RULES, WATCHED, AlertRule
from scheduler_view.alerts.rules.states import AlertState, Resolution

BADGES = {
    AlertState.NEW: ("danger", "New"),
    AlertState.WORSE: ("danger", "Worse"),
    AlertState.AGAIN: ("warn", "Back again"),
    AlertState.ONGOING: ("mute", "Ongoing"),
    AlertState.ARCHIVED: ("mute", "Archived"),
    AlertState.RESOLVED: ("ok", "Resolved"),
}
ENDS = {
    Resolution.GONE: "It is over",
    Resolution.THRESHOLD: "Below the changed threshold",
    Resolution.OFF: "The rule was switched off",
}
OFF = "off"
ORGANIZATION = "organization"


@page(READ)
def alert_list(request: HttpRequest) -> HttpResponse:
    """Alerts that last: new ones first."""
    return _list(request, LASTING, "alerts")


@page(READ)
def archived(request: HttpRequest) -> HttpResponse:
    """Alerts that people archived, with their reasons."""
    return _list(request, (AlertState.ARCHIVED,), "alerts-archived")


@page(READ)
def resolved(request: HttpRequest) -> HttpResponse:
    """Alerts that ended in the last 90 days."""
    return _list(request, (AlertState.RESOLVED,), "alerts-resolved")


def _list(
    request: HttpRequest, states: Sequence[AlertState], route: str
) -> HttpResponse:
    visitor = visitor_of(request)
    teams = _teams(visitor.scope)
    team, rule = _team(request, teams), request.GET.get("rule", "")
    check_word("rule", rule, ("", *(one.value for one in AlertRule)))
    rows = alert_rows(
        visitor.scope,
        states,
        teams=(team.slug,) if team else (),
        rule=rule,
        at=visitor.now,
    )
    shown = paged(rows, request.GET)
    is_empty = route == "alerts" and not rows
    context = {
        "page": shown.drawn(_line),
        "archived": _archived(visitor.scope) if is_empty else 0,
        "lede": _lede(rows) if route == "alerts" else None,
        "first": shown.lines[0].id if shown.lines and shown.number == 1 else 0,
        "route": route,
        "days": KEPT.days,
        "team": team,
        "teams": {ref.slug: ref.name for ref in teams},
        "rule": rule,
        "rule_label": RULES[AlertRule(rule)].label if rule else "",
        "rules": {
            one.value: RULES[one].label
            for one in WATCHED
            if visitor.scope.sees_all or RULES[one].is_of_teams
        },
    }
    return render(request, "alerts/alerts.html", context)


def _archived(scope: Scope) -> int:
    """How many alerts of a person are archived: not below their thresholds."""
    return len(alert_rows(scope, (AlertState.ARCHIVED,)))


def _line(row: AlertItem) -> dict[str, Any]:
    tone, label = BADGES[AlertState(row.state)]
    end = ENDS[Resolution(row.resolution)] if row.resolution else ""
    return {"row": row, "tone": tone, "label": label, "end": end}


def _lede(rows: AlertRows) -> dict[str, Any] | None:
    """What the sentence says: how many are new, of which rules, and the dearest of them."""
    if not rows:
        return None
    new = rows.new()
    texts = ", ".join(f"{RULES[rule].label} ({times})" for rule, times in new.rules)
    return {
        "new": new.count,
        "ongoing": len(rows) - new.count,
        "rules": texts if len(new.rules) > 1 else "",
        "dearest": new.dearest,
    }


def _teams(scope: Scope) -> Sequence[TeamRef]:
    """Whose alerts a person reads: every team, or those that they lead."""
    refs = visible_teams(scope).values()
    return [ref for ref in refs if scope.sees_all or ref.id in scope.lead_of]


def _team(request: HttpRequest, teams: Sequence[TeamRef]) -> TeamRef | None:
    slug = request.GET.get("team", "")
    found = next((ref for ref in teams if ref.slug == slug), None)
    if slug and found is None:
        raise Http404("no such team")
    return found


@page(READ)
def rule_list(request: HttpRequest) -> HttpResponse:
    """Every rule, its threshold, and how often it would have fired."""
    visitor = visitor_of(request)
    scope, teams = visitor.scope, _teams(visitor.scope)
    team = _team(request, teams)
    if team is None and not scope.sees_all:
        team = teams[0]  # leads choose thresholds of their teams
    rows = rule_rows(scope, visitor.now, team.id if team else None)
    watched = [row for row in rows if row.is_watched]
    fired = [row.times for row in watched if row.times is not None]
    context = {
        "watched": [_rule_line(row, scope, team) for row in watched],
        "others": [row for row in rows if not row.is_watched],
        "times": sum(fired) if fired else None,
        "loudest": max(
            (row for row in watched if row.times), key=_loudness, default=None
        ),
        "past": PAST,
        "team": team,
        "teams": {ref.slug: ref.name for ref in teams},
        "sees_all": scope.sees_all,
    }
    return render(request, "alerts/rules.html", context)


def _loudness(row: RuleRow) -> int:
    return row.times or 0


def _rule_line(row: RuleRow, scope: Scope, team: TeamRef | None) -> dict[str, Any]:
    most = max((day.times for day in row.days), default=0)
    number = team.id if team else None
    return {
        "row": row,
        "may_set": may_set(scope, row.rule, number),
        "most": most,
    }


class ThresholdForm(AccessibleForm):
    """From where on a rule fires."""

    value = forms.ChoiceField(label="Fires from", widget=forms.RadioSelect)
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, row: RuleRow, data: Any = None, *, is_of_team: bool) -> None:
        value = OFF if row.value is None else str(row.value)
        self._choices = [(str(one.value), _choice(one)) for one in row.choices]
        if is_of_team:
            text = f"As the organization: {row.organization}"
            self._choices.insert(0, (ORGANIZATION, text))
            value = value if row.is_own else ORGANIZATION
        super().__init__(data, initial={"value": value})

    def prepare(self) -> None:
        """Offer the thresholds of the rule."""
        self.offer("value", [*self._choices, (OFF, "Never: the rule is off")])


def _choice(one: ChoiceRow) -> str:
    text = one.text or "Each time"
    if one.times is None:
        return f"{text}: past not computed yet"
    times = "never" if one.times == 0 else f"{one.times:,} times"
    times = "once" if one.times == 1 else times
    return f"{text}: {times} in {PAST} days"


@page(READ, FORM)
def rule_form(request: HttpRequest, name: str) -> HttpResponse:
    """The threshold of a rule, with how often each choice would have fired."""
    visitor = visitor_of(request)
    if name not in tuple(AlertRule):
        raise Http404("no such rule")
    rule, scope = AlertRule(name), visitor.scope
    team = _team(request, _teams(scope))
    number = team.id if team else None
    if not RULES[rule].is_watched or (team and not RULES[rule].is_of_teams):
        raise Http404("no such rule")
    if not may_set(scope, rule, number):
        raise PermissionDenied("administrators, and leads for their teams")
    [row] = [one for one in rule_rows(scope, visitor.now, number) if one.rule == rule]
    data = request.POST if request.method == "POST" else None
    form = ThresholdForm(row, data, is_of_team=team is not None)
    back = reverse("alert-rules") + (f"?team={team.slug}" if team else "")
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        person: Any = request.user  # the gate lets nobody else in
        is_own = given["value"] != ORGANIZATION
        value = int(given["value"]) if given["value"].isdecimal() else None
        try:
            set_threshold(rule, number, value, given["reason"], person, is_own=is_own)
        except Refused as error:
            if error.code == RefusalCode.MISSING:
                raise Http404(str(error)) from error
            form.add_error(error.member or None, error.sentence)
        else:
            messages.success(request, f"The threshold of “{row.words.label}” is saved.")
            return redirect(back)
    context = {"form": form, "row": row, "team": team, "back": back, "past": PAST}
    status = 422 if request.method == "POST" else 200
    return render(request, "alerts/rule_form.html", context, status=status)


archive = form_page(ALERTS, ARCHIVE, template="alerts/archive.html", to="alerts")
restore = form_page(ALERTS, RESTORE, template="alerts/archive.html", to="alerts")
