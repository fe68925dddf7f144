"""Wasted time on pages: its evidence in words."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accounting.kit.tags.units import gpu_hours, moment, rate
from scheduler_view.savings.reads.evidence import EvidenceRow
from scheduler_view.savings.rules.evidence_wording import evidence_text

register = template.Library()


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
