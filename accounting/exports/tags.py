"""Files of a month on pages: downloads, and forms where large ones are requested."""

from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.journal import has_journal
from accounting.exports.tasks.request import MOST_STREAMED, ExportRequest, name_of
from accounting.kit.tags.components import icon
from accounting.months.reads.lines import Booking

register = template.Library()

_OF_STATEMENTS = (What.STATEMENTS, What.JOURNAL)  # few rows, however many lines
_OF_MONTH = (
    ("Statements", What.STATEMENTS, ""),
    ("Charges", What.CHARGES, ""),
    ("FOCUS 1.4", What.FOCUS, "focus-1.4"),
    ("FOCUS 1.2", What.FOCUS, "focus-1.2"),
    ("Journal", What.JOURNAL, ""),
)


@register.simple_tag
def month_files(booking: Booking) -> list[tuple[str, str, str, str]]:
    """The files of a month as they are offered: title, file name, content and profile.

    A journal is offered of a closed month, where its columns are set up.
    """
    found = []
    for title, what, profile in _OF_MONTH:
        if what is What.JOURNAL and not (booking.is_closed and has_journal()):
            continue
        asked = ExportRequest(what, booking.period, profile or "focus-1.4")
        found.append((title, name_of(asked, booking), what.value, profile))
    return found


@register.simple_tag
def file_link(
    label: str,
    period: str,
    what: str,
    line_count: int,
    team: str = "",
    profile: str = "",
    **more: Any,
) -> SafeString:
    """A file of a month: its download, or the form where a worker's file is requested.

    Args:
        label: of the link.
        period: YYYY-MM.
        what: of `What`.
        line_count: of the booking: many lines are written by a worker.
        team: only its rows.
        profile: of FOCUS rows.
        more: `revision` where it is not the one in effect; `of`, said to screen readers.
    """
    revision, of = more.get("revision", ""), more.get("of", "")
    quiet = format_html('<span class="vh"> {}</span>', of) if of else ""
    content = profile or ("focus-1.4" if what == "focus" else what)
    if line_count > MOST_STREAMED and what not in _OF_STATEMENTS:
        month = f"{period}-r{revision}" if revision else period
        query = urlencode({"content": content, "month": month, "team": team})
        return format_html(
            '<a class="tool" href="{}?{}">{}{}{}</a>',
            reverse("exports"),
            query,
            icon("download"),
            label,
            quiet,
        )
    pairs = {"team": team, "profile": profile, "revision": revision}
    query = urlencode({name: value for name, value in pairs.items() if value})
    url = reverse("period-file", args=[period, what])
    return format_html(
        '<a class="tool" href="{}" download>{}{}{}</a>',
        f"{url}?{query}" if query else url,
        icon("download"),
        label,
        quiet,
    )
