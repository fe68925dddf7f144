"""Wasted GPU time: what was held or free without use, by rule, largest cost first."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.reads.teams import UNMAPPED_TEAM, TeamRef, visible_teams
from accounting.access.rights import WASTE
from accounting.access.scope import Scope
from accounting.core.money import minor_places
from accounting.kit.cards import LateCard
from accounting.kit.pages.fragments import card_answer, linked_path
from accounting.kit.pages.paging import ListPage, page_of, size_of
from accounting.kit.pages.permissions import page
from accounting.kit.reads.selection import SelectionError
from accounting.usage.pages.page_state import PageState
from scheduler_view.savings.pages.cost_bars import ACTION, cost_bars, rule_bars
from scheduler_view.savings.reads.bridge import bridges, led_selection
from scheduler_view.savings.reads.divisions import divisions
from scheduler_view.savings.reads.evidence import EvidenceRow, evidence_of
from scheduler_view.savings.reads.observed import clusters_not_observed
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import SHOWN, WasteReport, part_of, waste_report
from scheduler_view.savings.reads.setting_limits import limits_of_days
from scheduler_view.savings.rules.wording import (
    NEEDS_API,
    Division,
    RuleText,
    rule_text,
)

ROWS = "25"  # of each of two lists: a row has five findings


@dataclass(frozen=True, slots=True)
class WasteLine:
    """A row of the page, with the text of its rule and its largest findings."""

    row: WasteRow
    text: RuleText
    evidence: Sequence[EvidenceRow] = ()
    division: Division = Division.WHOLE
    source_url: str = ""  # empty for free time

    @property
    def advice(self) -> str:
        """What to do about it; about a node, by how its GPUs are divided."""
        return self.text.advice_for(self.division)

    @property
    def further(self) -> int:
        """Findings that are not listed."""
        return self.row.findings - len(self.evidence)


APART = LateCard(
    route="waste-apart",
    title="Not counted as savings",
    id="apart",
    template="savings/_apart_card.html",
    page="waste",
    label="Waste",
    css="s12",
    rows=30,
)


@dataclass(frozen=True, slots=True)
class _Found:
    """Findings of an address: those that come to what can be saved, and those apart.

    Attributes:
        family: the only one that is shown, with its namespace; "" for all.
        report: of what is shown.
    """

    state: PageState
    team: TeamRef | None
    rule: str
    family: str
    report: WasteReport
    claimed: Sequence[WasteLine]
    apart: Sequence[WasteLine]

    @property
    def rows(self) -> int:
        """Rows of a page of one of the lists."""
        return size_of({"rows": self.state.query.get("rows") or ROWS})

    @property
    def apart_page(self) -> ListPage:
        """The page of those apart."""
        return page_of(self.apart, self.state.query.get("apart", ""), self.rows)


def _found(request: HttpRequest, path: str = "") -> _Found:
    state = PageState(request, compares=False, path=path)
    ref = led_team(state.visitor.scope, state.query.get("team", ""))
    rule = chosen_rule(state.query.get("rule", ""))
    report = waste_report(
        state.visitor.scope,
        state.days,
        minor_places(state.currency),
        clusters=[state.cluster] if state.cluster else (),
        teams=[ref.slug] if ref else (),
    )
    family = state.query.get("family", "")
    if rule or family:
        report = part_of(report, rule, family)
    lines = [WasteLine(row, rule_text(row.rule)) for row in report.rows]
    claimed = [line for line in lines if line.row.is_in_totals]
    apart = [line for line in lines if not line.row.is_in_totals]
    return _Found(state, ref, rule, family, report, claimed, apart)


@page(WASTE)
def waste_apart(request: HttpRequest) -> HttpResponse:
    """Findings of the range that are not added to what can be saved."""
    found = _found(request, linked_path(request, APART))
    apart = found.apart_page
    context = {
        "state": found.state,
        "team": found.team,
        "apart": apart,
        "apart_lines": with_evidence(apart.lines, found.state),
    }
    return card_answer(request, APART, context)


@page(WASTE)
def waste(request: HttpRequest) -> HttpResponse:
    """Findings of the range, by rule and work unit; who asks for those apart has them, too."""
    found = _found(request)
    state, ref, rule, report = found.state, found.team, found.rule, found.report
    shown = page_of(found.claimed, state.query.get("page", ""), found.rows)
    apart = found.apart_page
    is_asked = any(state.query.get(name) for name in ("apart", "rows"))
    explained = with_evidence(
        [*shown.lines, *(apart.lines if is_asked or not shown.count else ())], state
    )
    led = led_selection(state.selection(**({"team": ref.slug} if ref else {})))
    costs = (
        bridges(led, state.days, report.days, minor_places(state.currency))
        if led and report.days and not found.family
        else ()
    )
    of_rules = rule_bars(
        costs,
        rule,
        lambda one: state.url(without=("page", "apart"), rule=one) + "#waste-title",
    )
    context = {
        "state": state,
        "team": ref,
        "report": report,
        "bars": cost_bars(costs),
        "unpriced": [one for one in costs if one.whole is None],
        "rule_bars": of_rules,
        "largest": next((one for one in of_rules if one.kind == ACTION), None),
        "rule": rule and rule_text(rule).title,
        "namespace": found.family.partition("/")[0],
        "family": found.family.partition("/")[2],
        "all_rules_url": state.url(without=("page", "apart", "rule")),
        "all_families_url": state.url(without=("page", "apart", "family")),
        "page": shown,
        "lines": explained[: len(shown.lines)],
        "apart": apart,
        "apart_lines": explained[len(shown.lines) :],
        "needs_api": NEEDS_API,
        "limits": limits_of_days(state.days, [state.cluster] if state.cluster else ()),
        "not_observed": clusters_not_observed(state.cluster or ""),
    }
    return render(request, "savings/waste.html", context)


def chosen_rule(value: str) -> str:
    """The rule in an address, "" without one.

    Raises:
        SelectionError: no rule has this name.
    """
    if value and value not in SHOWN:
        raise SelectionError(f"rule={value!r} is not one of {', '.join(SHOWN)}")
    return value


def led_team(scope: Scope, slug: str) -> TeamRef | None:
    """The team in an address, None without one; 404 for one that the visitor does not lead.

    Who sees all also sees usage without a team: other pages lead here with `unmapped`.
    """
    if not slug:
        return None
    if slug == UNMAPPED_TEAM.slug and scope.sees_all:
        return UNMAPPED_TEAM
    ref = visible_teams(scope).get(slug)
    if ref is None or not (scope.sees_all or ref.id in scope.lead_of):
        raise Http404("no such team")
    return ref


def with_evidence(lines: Sequence[WasteLine], state: PageState) -> list[WasteLine]:
    """The same lines with their largest findings and how nodes are divided; two queries."""
    found = evidence_of([line.row for line in lines], state.days)
    divided = divisions({line.row.key[3] for line in lines if line.text.of_division})
    return [
        WasteLine(
            line.row,
            line.text,
            found.get((line.row.rule, line.row.currency, line.row.key), ()),
            divided.get(line.row.key[3], Division.WHOLE),
            _source_url(line.row, state),
        )
        for line in lines
    ]


def _source_url(row: WasteRow, state: PageState) -> str:
    """The explanation of the idle cost of a row's work on these days."""
    if row.node or row.pool or row.more or not row.gpu_ms:
        return ""
    query = {
        "what": "idle_charge",
        "team": row.team,
        "namespace": row.namespace,
        "workload": row.workload,
        "from": state.days.first.isoformat(),
        "to": state.days.after.isoformat(),
    }
    return f"{reverse('explain')}?{urlencode(query)}"
