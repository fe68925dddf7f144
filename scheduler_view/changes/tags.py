"""Parts of the pages of quotas and change sets: bars, reasons, names of resources."""

import re
from collections.abc import Mapping, Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from scheduler_view.changes.reads.headlines import titles_of
from scheduler_view.clusters.rules.schedulers import adapter_of
from scheduler_view.clusters.rules.wording import units
from scheduler_view.quotas.reads.quotas import QuotaRow, ResourceRow

register = template.Library()

SHOWN_PARTS = 3  # namespaces in the text of a quota

_LINK = re.compile(r"https?://[^\s<>\"']+")
_TICKET = re.compile(r"\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b")
_SIGNS = {
    "create": "+",
    "change": "~",
    "replace": "±",
    "remove": "\N{MINUS SIGN}",
    "restore": "\N{LEFTWARDS ARROW WITH HOOK}",
    "keep": "=",
}
_WORDS = {
    "create": "created",
    "change": "changed",
    "replace": "replaced",
    "remove": "removed",
    "restore": "restored",
    "keep": "unchanged",
}


@register.filter
def scheduler_title(name: str) -> str:
    """`Kueue`."""
    return adapter_of(name).title


@register.filter
def counts_any_gpu(name: str) -> bool:
    """True for a scheduler whose queues count GPUs of any kind together."""
    return adapter_of(name).counts_any_gpu


@register.filter
def resource_name(resource: str, number: int | None = None) -> str:
    """`GPUs`, `MIG 1g.10gb`: the name of units of a resource; `GPU` for one."""
    return units(resource, number)


@register.simple_tag
def change_titles(numbers: Sequence[int]) -> dict[int, str]:
    """Titles of the change sets on a page, by number, in few queries."""
    return titles_of(numbers)


@register.filter
def title_of(titles: Mapping[int, str], number: int) -> str:
    """`Forecasting: 24 → 30 GPUs`; empty if the change set does not exist."""
    return titles.get(number, "")


@register.filter
def action_sign(action: str) -> str:
    """`+`, `~`, `±`, `−`, `=`; the word is next to it for screen readers."""
    return _SIGNS.get(action, "")


@register.filter
def action_message(action: str) -> str:
    """`created`, `changed`."""
    return _WORDS.get(action, action)


@register.filter
def units_of(value: float) -> str:
    """`1,024`; with decimals for a fraction: `0.5`."""
    return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}"


@register.filter
def short_field(field: str) -> str:
    """A field without the path that all fields of its kind have."""
    return field.removeprefix("spec.hard.").removeprefix("spec.")


@register.filter
def reason_text(reason: str) -> SafeString:
    """A reason with links and marked tickets; everything is escaped."""
    parts: list[SafeString | str] = []
    at = 0
    for found in sorted(
        [*_LINK.finditer(reason), *_TICKET.finditer(reason)], key=lambda m: m.start()
    ):
        if found.start() < at:
            continue
        text = found.group().rstrip(".,;)")
        parts.append(reason[at : found.start()])
        if text.startswith("http"):
            parts.append(
                format_html('<a href="{}" rel="noreferrer noopener">{}</a>', text, text)
            )
        else:
            parts.append(format_html('<span class="badge mute">{}</span>', text))
        at = found.start() + len(text)
    parts.append(reason[at:])
    return format_html_join("", "{}", ((part,) for part in parts))


@register.simple_tag
def resource_bar(resource: ResourceRow) -> SafeString:
    """In use and committed against capacity; overcommitted units extend beyond the bar."""
    capacity = resource.capacity or 0
    whole = max(capacity, resource.committed, resource.in_use, 1)
    committed, used, there = (
        round(100 * value / whole, 2)
        for value in (resource.committed, resource.in_use, capacity)
    )
    return format_html(
        '<svg class="resourcebar" role="img" aria-label="{}">'
        '<rect class="s-rest" x="0" y="6" width="{}%" height="20" rx="3"/>'
        '<rect class="s-promised" x="0" y="6" width="{}%" height="20" rx="3"/>'
        '<rect class="s-used" x="0" y="11" width="{}%" height="10" rx="2"/>'
        '<line class="s-capacity" x1="{}%" x2="{}%" y1="0" y2="32"/></svg>',
        f"{resource.resource}: {resource.in_use} in use, {resource.committed} committed, "
        + (
            f"{resource.capacity} there"
            if resource.capacity is not None
            else "none reported"
        ),
        there,
        committed,
        used,
        there,
        there,
    )


@register.simple_tag
def quota_bar(row: QuotaRow) -> SafeString:
    """In use against the quota, with a tick at the peak; shown with the numbers."""
    whole = max(row.gpus, row.peak, row.in_use, 1)
    quota, used, peak = (
        round(100 * value / whole, 2) for value in (row.gpus, row.in_use, row.peak)
    )
    return format_html(
        '<svg class="quotabar{}" aria-hidden="true" focusable="false">'
        '<rect class="s-rest" x="0" y="3" width="{}%" height="10" rx="2"/>'
        '<rect class="fill" x="0" y="3" width="{}%" height="10" rx="2"/>'
        '<line class="s-peak" x1="{}%" x2="{}%" y1="0" y2="16"/></svg>',
        " over" if row.is_over else "",
        quota,
        used,
        peak,
        peak,
    )


@register.simple_tag
def room_message(row: QuotaRow) -> str:
    """The remaining quota by namespace: a pod uses the part of its own namespace."""
    if row.room is None or row.is_over:
        return ""
    lefts = {n: min(units, row.left) for n, units in (row.lefts or row.rooms).items()}
    if len(lefts) == 1:
        (units,) = lefts.values()
        text = f"{units:,} left"
    else:
        shown = list(lefts.items())[:SHOWN_PARTS]
        parts = [f"{units:,} in {name}" for name, units in shown]
        rest = list(lefts.values())[SHOWN_PARTS:]
        if any(rest):
            parts.append(f"{sum(rest):,} in {len(rest)} more")
        text = f"{row.left:,} left: {', '.join(parts)}"
    less = sum(lefts.values()) < row.left
    return f"{text}; another quota allows less" if less else text


@register.filter
def split_text(split: Mapping[str, int]) -> str:
    """`vision-a 16, vision-b 4, vision-c 4, 20 in 499 more`: a quota by namespace."""
    shown = [f"{name} {gpus:,}" for name, gpus in list(split.items())[:SHOWN_PARTS]]
    rest = list(split.values())[SHOWN_PARTS:]
    return ", ".join(
        [*shown, f"{sum(rest):,} in {len(rest):,} more"] if rest else shown
    )


@register.filter
def share_of(part: int, whole: int | None) -> str:
    """`96%` of a whole; empty if the whole is 0."""
    return f"{round(100 * part / whole)}%" if whole else ""


@register.filter
def starts(text: str, beginning: str) -> bool:
    """True if a text starts with another."""
    return text.startswith(beginning)
