"""Wasted time on pages: its evidence in words, and what a team could give back."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accounting.core.money import minor_places
from accounting.kit.tags.units import gpu_hours, moment, rate
from scheduler_view.savings.reads.bridge import bridges
from scheduler_view.savings.reads.evidence import EvidenceRow
from scheduler_view.savings.reads.rows import waste_report
from scheduler_view.savings.rules.evidence_wording import evidence_text
from scheduler_view.savings.rules.wording import rule_text

register = template.Library()

SHOWN = 5  # rows on the page of a team


@register.simple_tag
def waste_findings(findings: Iterable[EvidenceRow], currency: str) -> SafeString:
    """What a rule saw in the largest findings of a row, as items of a list.

    Drawn in Python: a page has five hundred of them, and a template takes 0.1 ms for each.
    """
    return format_html_join(
        "",
        "<li>{}{} to {}: {}{} GPU-h{}</li>",
        (
            (
                f"{one.pod}, " if one.pod else "",
                moment(one.start),
                moment(one.end),
                f"{evidence_text(one.evidence)}; " if one.evidence else "",
                gpu_hours(one.gpu_ms),
                ", no price" if one.rate is None else f" x {rate(one.rate, currency)}",
            )
            for one in findings
        ),
    )


@register.inclusion_tag("savings/_give_back.html", takes_context=True)
def give_back(context: Mapping[str, Any]) -> dict[str, Any]:
    """The largest findings of the team of a page, which its reader may see."""
    state, team = context["state"], context["team"]
    report = waste_report(
        state.visitor.scope,
        state.days,
        minor_places(state.currency),
        clusters=[state.cluster] if state.cluster else (),
        read_team=team.id,
    )
    scope = state.visitor.scope
    rows = [row for row in report.rows if row.is_in_totals]
    return {
        "state": state,
        "team": team,
        "report": report,
        "bridges": bridges(
            state.unfiltered(team=team.slug),
            state.days,
            report.days,
            minor_places(state.currency),
        )
        if report.days
        else (),
        "lines": [{"row": row, "text": rule_text(row.rule)} for row in rows[:SHOWN]],
        "leads": scope.sees_all or team.id in scope.lead_of,
    }
