"""Idle holders with their sentence and what was done about them; forms to ask and to ignore."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounting.access.reads.billing_settings import billing_day
from accounting.access.rights import WASTE
from accounting.kit.outcomes import Done
from accounting.kit.pages.declared import form_page
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import page, visitor_of
from accounting.kit.reads.selection import check_word
from accounting.kit.tags.units import duration, money, rate
from accounting.notifications.rules import Delivery
from scheduler_view.idle.actions import AskOwner, ask_owner
from scheduler_view.idle.reads import (
    IdleRow,
    every_holder,
    looked_until,
    not_ignored,
    note_rows,
    summed,
)
from scheduler_view.idle.resource import ASK, IDLE_HOLDERS, IGNORE
from scheduler_view.idle.rules import CHOICES_MINUTES, USUAL_MINUTES
from scheduler_view.savings.pages.waste import led_team
from scheduler_view.savings.rules.idle import MINUTE_MS

WEEK = timedelta(days=7)


@page(WASTE)
def idle_list(request: HttpRequest) -> HttpResponse:
    """Who holds GPUs and has been idle for so long: all, or those of the teams that one leads."""
    visitor = visitor_of(request)
    over = request.GET.get("over", str(USUAL_MINUTES))
    check_word("over", over, tuple(map(str, CHOICES_MINUTES)))
    ref = led_team(visitor.scope, request.GET.get("team", ""))
    every = every_holder(visitor.scope)
    rows = [
        row
        for row in not_ignored(every, int(over))
        if ref is None or row.team == ref.slug
    ]
    until = looked_until()
    context = {
        "page": paged(rows, request.GET.dict()),
        "total": summed(rows),
        "dearest": rows[0] if rows and rows[0].amount else None,
        "team": ref,
        "over": int(over),
        "over_text": duration(int(over) * MINUTE_MS),
        "choices": [(n, duration(n * MINUTE_MS)) for n in CHOICES_MINUTES],
        "notes": [
            {"row": one, "mail": mail_link(one.name, one.note.text, one.note.to)}
            for one in note_rows(visitor.scope, every)
        ],
        "until": max((at for at in until.values() if at), default=None),
        "unseen": [name for name, at in until.items() if at is None],
        "may_act": visitor.scope.sees_all or bool(visitor.scope.lead_of),
    }
    return render(request, "idle/idle.html", context)


def message(row: IdleRow) -> str:
    """The message about a holder, with its figures."""
    cost = ""
    if row.amount is not None:
        hourly = ""
        if row.per_hour is not None:
            hourly = f", and {rate(row.per_hour, row.currency)} for each further hour"
        cost = f" So far this cost {money(row.amount, row.currency)}{hourly}."
    waits = ""
    if row.queued_unit is not None:
        path = reverse("queue-unit", args=[row.queued_unit])
        waits = f" Others of its pods wait: {settings.PUBLIC_URL}{path}"
    return (
        f"{row.name} in {row.namespace} (cluster {row.cluster}) holds"
        f" {row.gpus_text} \N{MULTIPLICATION SIGN} {row.model} and has been idle for"
        f" {duration(row.idle_ms)}.{cost}{waits}\n\nIs it still needed? If not, please end it:\n"
        f"{row.command}\n"
    )


def _ask(row: IdleRow, query: Mapping[str, Any]) -> dict[str, Any]:
    del query
    return {"to": row.owner, "text": message(row)}


def _ignore(row: IdleRow, query: Mapping[str, Any]) -> dict[str, Any]:
    del row, query
    return {"until": billing_day(timezone.now() + WEEK).isoformat()}


def mail_link(subject: str, text: str, to: str = "") -> str:
    """A link that opens a message in the visitor's mail program."""
    at = quote(to) if "@" in to else ""
    return f"mailto:{at}?subject={quote(subject)}&body={quote(text)}"


def _ask_and_link(number: int, given: AskOwner, person: AbstractBaseUser) -> Done:
    """Ask; where no mail goes out, the answer opens the message in the visitor's program."""
    done, to = ask_owner(number, given, person), given.to.strip()
    if Delivery.MAILED.format(to=to) in done.text:
        return done
    link = mail_link("Idle GPUs", given.text, to)
    told = '{} <a href="{}">Open it in your mail program</a>.'
    return replace(done, text=format_html(told, done.text, link))


ask = form_page(
    IDLE_HOLDERS, replace(ASK, does=_ask_and_link), to="idle-holders", start=_ask
)
ignore = form_page(IDLE_HOLDERS, IGNORE, to="idle-holders", start=_ignore)
