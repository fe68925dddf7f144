"""A mail about alerts as plain text and as HTML, in the frame of the weekly mail.

Texts are one line each: names of work and owners come from labels, which may contain anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from django.conf import settings
from django.template.loader import render_to_string

from accounting.kit.tags import units
from accounting.notifications.rules import one_line
from portal.weekly.letter import STYLES, WIDTH, Letter
from portal.weekly.sections import WeeklyRow, WeeklySection, link_to, plain, told_at
from scheduler_view.alerts.pages import BADGES
from scheduler_view.alerts.reads.alerts import AlertItem
from scheduler_view.alerts.rules.states import AlertState


@dataclass(frozen=True, slots=True)
class AlertMail:
    """All that a mail says, as text.

    Attributes:
        why: the person gets it.
    """

    subject: str
    lede: str
    sections: tuple[WeeklySection, ...]
    zone: str
    why: str
    url: str
    choices_url: str


def alert_letter(
    rows: Sequence[AlertItem], count: int, *, zone: str, sees_all: bool
) -> Letter:
    """Subject and both bodies.

    Args:
        rows: those that are shown, the dearest first; at least one.
        count: how many there are.
    """
    more = count - len(rows)
    total = WeeklyRow(f"and {more:,} more") if more else None
    noun = "alert" if count == 1 else "alerts"
    mail = AlertMail(
        subject=f"{count:,} {noun}: {_dearest(rows[0])}",
        lede=f"{count:,} {noun} {'needs' if count == 1 else 'need'} you.",
        sections=(
            WeeklySection(
                "New, worse or back again", "", tuple(map(_row, rows)), total
            ),
        ),
        zone=zone,
        why="because you see every team" if sees_all else "because you lead a team",
        url=link_to("alerts"),
        choices_url=link_to("notifications"),
    )
    html = render_to_string("digest/mail.html", {"mail": mail, "css": STYLES})
    return Letter(mail.subject, "\n".join(_lines(mail)), html)


def _dearest(row: AlertItem) -> str:
    what = one_line(row.what)
    return f"{what}, {units.money(row.amount, row.currency)}" if row.amount else what


def _row(row: AlertItem) -> WeeklyRow:
    badge = BADGES[AlertState(row.state)][1]
    since = f"since {told_at(row.since)}"
    about = [badge, since, row.team_name if row.team else "", row.about]
    value, below = _figure(row)
    return WeeklyRow(
        one_line(row.what),
        " · ".join(filter(None, map(one_line, about))),
        ((value, below),),
        (row.does, f"{settings.PUBLIC_URL}{row.url}"),
    )


def _figure(row: AlertItem) -> tuple[str, str]:
    """The figure of the page, and what it says below it."""
    written = render_to_string("alerts/_figure.html", {"row": row})
    value, _, below = written.partition('<span class="cell-sub">')
    return plain(value), plain(below)


def _lines(mail: AlertMail) -> Iterator[str]:
    yield mail.lede
    [section] = mail.sections
    for row in section.rows:
        yield ""
        yield from wrap(row.name, WIDTH)
        figures = [text for cell in row.cells for text in cell if text]
        yield from _indented(row.below)
        yield from _indented(" ".join(figures))
        if row.link:
            yield f"  {row.link[0]}: {row.link[1]}"
    yield ""
    if section.total:
        yield section.total.name
    yield f"Open alerts: {mail.url}"
    yield f"Times are {mail.zone}."
    yield f"You get this at most once an hour, {mail.why}."
    yield f"Stop this mail: {mail.choices_url}"
    yield ""


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
