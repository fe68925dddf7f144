"""What is idle, what changed, what waits, what could be saved: rows of text for both bodies.

Texts are one line each: names of work and owners come from labels, which may contain anything.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from accounting.access.reads.teams import TeamRef
from accounting.core.interval import to_instant
from accounting.core.money import amount_of
from accounting.kit.inbox import Asker
from accounting.kit.tags import units
from accounting.notifications.rules import one_line
from accounting.usage.pages.family_lines import NO_FAMILY, FamilyTable
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.tables import idle_families
from accounting.usage.reads.ranking import largest
from accounting.usage.tags import idle_charge
from scheduler_view.idle.reads import IdleRow, idle_rows, summed
from scheduler_view.idle.rules import USUAL_MINUTES
from scheduler_view.inbox.reads import inbox_rows
from scheduler_view.queues.reads.queued_units import QueuedUnitRow
from scheduler_view.queues.tags import wait_start, waiting_work
from scheduler_view.savings.models import RecommendationState
from scheduler_view.savings.pages.recommendation_lines import family_lines, totals
from scheduler_view.savings.reads.recommendations import recommendation_rows
from scheduler_view.waits.tags import wait_cause

SHOWN = 5  # rows of a section; the page has all
CHANGES = 3
_BELOW = re.compile(r"<span class=.cell-sub")  # of a cell; a mail has one line


@dataclass(frozen=True, slots=True)
class WeeklyRow:
    """One row: its name with a line below it, numbers, each with a line below it, and a link."""

    name: str
    below: str = ""
    cells: tuple[tuple[str, str], ...] = ()
    link: tuple[str, str] | None = None  # text, address


@dataclass(frozen=True, slots=True)
class WeeklySection:
    """A table with its title."""

    title: str
    below: str
    rows: tuple[WeeklyRow, ...]
    total: WeeklyRow | None = None


def link_to(route: str, *args: str | int, query: str = "") -> str:
    """An absolute address: a mail has no host."""
    return f"{settings.PUBLIC_URL}{reverse(route, args=args)}{query}"


def plain(text: str) -> str:
    """What a template tag wrote, as one line of text."""
    return one_line(html.unescape(strip_tags(text)))


def idle_now(
    state: PageState, team: TeamRef
) -> tuple[WeeklySection, Sequence[IdleRow]]:
    """Who holds GPUs and is idle, dearest first, and all of these holders."""
    found = idle_rows(state.visitor.scope, least_minutes=USUAL_MINUTES, team=team.id)
    sums = summed(found)
    shown = tuple(_idle(row) for row in found[:SHOWN])
    amount = units.money(sums.amount, sums.currency) if sums.amount is not None else ""
    title = f"Idle at {units.clock(state.visitor.now)}"
    name = f"{_count(sums.holders, 'holder')}, {_count(sums.gpus_text, 'GPU')}"
    below = "Held for 30 minutes or longer without work"
    total = WeeklyRow(name, "", (("", ""), (amount, "")))
    return WeeklySection(title, below, shown, total), found


def _idle(row: IdleRow) -> WeeklyRow:
    hourly = ""
    if row.per_hour is not None:
        hourly = f"{units.money(row.per_hour, row.currency)} an hour"
    amount = "No price" if row.amount is None else units.money(row.amount, row.currency)
    return WeeklyRow(
        one_line(row.name),
        " · ".join(
            filter(None, [_gpus(row.gpus_text, row.model), one_line(row.owner)])
        ),
        (
            (units.duration(row.idle_ms), f"since {told_at(to_instant(row.since_ms))}"),
            (amount, hourly),
        ),
        (one_line(f"Ask {row.owner}"), link_to("idle-ask", row.id)),
    )


def changes(team: TeamRef, table: FamilyTable, currency: str) -> WeeklySection:
    """The families whose spend changed most; all others in one row, so that it adds up."""
    known = [line for line in table.lines if line.change and not line.change.doubt]
    known.sort(key=lambda line: -abs(line.change.difference) if line.change else 0)
    shown = known[:CHANGES]
    rows = [
        _change(line.name, amount_of(line.row.charge), line.change.difference, currency)
        for line in shown
        if line.change
    ]
    total, moved = amount_of(table.total.charge), table.change
    if not shown or total is None or moved is None:
        return WeeklySection("Largest changes", "", ())
    others = len(table.lines) - len(shown) + table.gone_count
    if others:
        spent = sum(
            (amount_of(line.row.charge) or 0 for line in shown), start=total * 0
        )
        part = sum(
            (line.change.difference for line in shown if line.change), Decimal(0)
        )
        name = f"{others:,} other famil{'y' if others == 1 else 'ies'}"
        rows.append(_change(name, total - spent, moved.difference - part, currency))
    below = "Last week, and against the week before"
    whole = _change(team.name, total, moved.difference, currency)
    return WeeklySection("Largest changes", below, tuple(rows), whole)


def _change(
    name: str, spent: Decimal | None, difference: Decimal, currency: str
) -> WeeklyRow:
    cells = (
        (units.money(spent, currency), ""),
        (units.money_more(difference, currency), ""),
    )
    return WeeklyRow(one_line(name), "", cells)


def idle_last_week(
    state: PageState, team: TeamRef, places: int, holders: Iterable[IdleRow]
) -> WeeklySection:
    """The families with the largest idle cost of the week; the owner if it is idle now, too."""
    owners = {(row.namespace, row.family): row.owner for row in holders if row.owner}
    found = largest(
        state.selection(team=team.slug), ("team", "family"), "idle", SHOWN, places
    )
    rows = tuple(
        WeeklyRow(
            one_line(line.family) or NO_FAMILY,
            one_line(owners.get((line.namespace, line.family), "")),
            (
                (f"{units.gpu_hours(line.row.idle_ms)} GPU-h", ""),
                (idle_charge(line.row, state.currency), ""),
            ),
        )
        for line in idle_families(found.rows, {team.slug: team})
    )
    return WeeklySection("Largest idle cost last week", "", rows)


def pending_work(state: PageState, team: TeamRef) -> WeeklySection:
    """The oldest work of the team that waits, and why: the card of its page."""
    found: Sequence[QueuedUnitRow] = waiting_work({"state": state, "team": team})[
        "rows"
    ]
    rows = tuple(
        WeeklyRow(
            one_line(row.name),
            ", ".join(_waits(row)),
            (),
            ("Why", link_to("queue-unit", row.number)),
        )
        for row in found
    )
    return WeeklySection(f"Pending work at {units.clock(state.visitor.now)}", "", rows)


def _waits(row: QueuedUnitRow) -> Iterator[str]:
    if row.units:
        yield _gpus(f"{row.units:,}", row.model)
    if row.since:
        yield f"since {told_at(row.since)}"
    yield plain(wait_cause(row))
    yield plain(_BELOW.split(wait_start(row))[0])


def for_you(state: PageState, team: TeamRef, user: tuple[int, str]) -> WeeklySection:
    """What waits for the person about this team."""
    asker = Asker(state.visitor.scope, *user, state.visitor.now)
    found = inbox_rows(asker, teams=(team.slug,))
    rows = tuple(
        WeeklyRow(
            one_line(row.what),
            one_line(row.about),
            (),
            (row.does, f"{settings.PUBLIC_URL}{row.url}"),
        )
        for row in found[:SHOWN]
    )
    more = len(found) - SHOWN
    below = f"{more} more at {link_to('inbox')}" if more > 0 else ""
    return WeeklySection("Waiting for you", below, rows)


def dearest_action(state: PageState, team: TeamRef, places: int) -> WeeklySection:
    """The change that would save most, and what all would save, as Recommendations has them."""
    current = (RecommendationState.OPEN, RecommendationState.ACCEPTED)
    rows = [
        row
        for row in recommendation_rows(state.visitor.scope, places)
        if row.row.team == team.slug and row.state in current
    ]
    address = link_to("recommendations", query=f"?team={team.slug}")
    found = totals(family_lines(rows, places))
    lines = tuple(
        WeeklyRow(
            one_line(of.largest.name),
            one_line(of.largest.one.advice),
            ((_range(of.largest.low, of.largest.high, of.low.currency), ""),),
            ("Open", address),
        )
        for of in found
    )
    below = ""
    if found:
        sums = found[0]
        amount = _range(sums.low.amount, sums.high.amount, sums.low.currency)
        below = f"All changes would save {amount} a month"
    return WeeklySection("What saves most in a month", below, lines)


def _range(low: Decimal | None, high: Decimal | None, currency: str) -> str:
    texts = [units.money_round(one, currency) for one in (low, high)]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def _gpus(count: str, models: str) -> str:
    """`8 x H100 80 GB`."""
    return f"{count} x {', '.join(map(units.short_model, models.split(', ')))}"


def _count(number: int | str, what: str) -> str:
    return f"{number} {what}{'' if str(number) == '1' else 's'}"


def told_at(instant: datetime) -> str:
    """`Sun 22 Nov 21:40`, only the time of today, in the reader's zone."""
    local = timezone.localtime(instant)
    if local.date() == timezone.localdate():
        return f"{local:%H:%M}"
    return f"{local:%a} {units.short_day(local.date())} {local:%H:%M}"
