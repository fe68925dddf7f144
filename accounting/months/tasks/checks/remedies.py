"""Where a person corrects what a check of a close found (money.md M27)."""

from collections.abc import Sequence
from datetime import date
from urllib.parse import urlencode

from django.urls import reverse

from accounting.core.billing_calendar import months_later

_TIME_ALONE = ("over", "settled")  # nothing to correct: only to wait for
_IN_MONTH = {
    # code: the page, and the place on it
    "windows": ("data-health", "calendar-title"),
    "hours": ("data-health", ""),
    "coverage": ("data-health", "calendar-title"),
    "team_coverage": ("data-health", "calendar-title"),
    "dark": ("data-health", "issues-title"),
    "estimated": ("data-health", "issues-title"),
    "without_gpus": ("data-health", "issues-title"),
    "never_sampled": ("data-health", "issues-title"),
    "moved": ("overview", ""),  # its largest changes against the month before
}
_PAGES = {
    "order": "months",
    "conservation": "proofs",
    "unpriced": "prices",
    "unconverted": "prices",
    "unmapped": "attribution",
    "unmapped_any": "attribution",
    "entries": "entry-add",
    "contests": "contests",
    "bills": "bills",
}


def link_of(code: str, period: str, failed: Sequence[str]) -> str:
    """The address of the page that corrects a check; "" if only time does.

    Args:
        code: of the check.
        period: YYYY-MM, the month that is closed.
        failed: the subjects that the check found, the worst first.
    """
    if code in _TIME_ALONE:
        return ""
    if code == "order" and failed and failed[0][:4].isdecimal():
        return reverse("month", args=[failed[0]])
    if code not in _IN_MONTH:
        return reverse(_PAGES[code])
    page, place = _IN_MONTH[code]
    first = date.fromisoformat(f"{period}-01")
    days = {"from": first.isoformat(), "to": months_later(first, 1).isoformat()}
    return f"{reverse(page)}?{urlencode(days)}{place and f'#{place}'}"
