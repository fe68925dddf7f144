"""Files of a month on pages: downloads, and forms where large ones are requested."""

from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounting.exports.tasks.request import MOST_STREAMED
from accounting.kit.tags.components import icon

register = template.Library()


@register.simple_tag
def file_link(
    label: str,
    period: str,
    what: str,
    line_count: int,
    team: str = "",
    profile: str = "",
) -> SafeString:
    """A file of a month: its download, or the form where a worker's file is requested."""
    content = profile or ("focus-1.4" if what == "focus" else what)
    if line_count > MOST_STREAMED and what != "statements":
        query = urlencode({"content": content, "month": period, "team": team})
        return format_html(
            '<a class="tool" href="{}?{}">{}{}</a>',
            reverse("exports"),
            query,
            icon("download"),
            label,
        )
    pairs = {"team": team, "profile": profile}
    query = urlencode({name: value for name, value in pairs.items() if value})
    url = reverse("period-file", args=[period, what])
    return format_html(
        '<a class="tool" href="{}" download>{}{}</a>',
        f"{url}?{query}" if query else url,
        icon("download"),
        label,
    )
