"""The weekly mail of last week, shown now: nothing is sent."""

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import known_teams
from accounting.access.rights import INBOX
from accounting.health.pages import chip_of
from accounting.kit.pages.permissions import page, visitor_of
from accounting.notifications.pages.mail_frame import (
    has_frame,
    mail_answer,
    mail_document,
)
from portal.weekly.due import last_week
from portal.weekly.figures import mail_of, team_request
from portal.weekly.letter import Letter, letter_of


@has_frame
@page(INBOX)
def weekly_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """The mail of a team's last week in a frame, and as plain text."""
    context = {"slug": slug, "letter": _letter(request, slug)}
    return render(request, "weekly/preview.html", context)


@mail_document
@page(INBOX)
def weekly_preview_mail(request: HttpRequest, slug: str) -> HttpResponse:
    """Its document."""
    found = _letter(request, slug)
    if found is None:
        raise Http404("the team held no GPUs last week")
    return mail_answer(request, found.html)


def _letter(request: HttpRequest, slug: str) -> Letter | None:
    visitor = visitor_of(request)
    led = {known_teams()[team].slug for team in visitor.scope.lead_of}
    if not visitor.scope.sees_all and slug not in led:
        raise Http404("no such team")
    week = last_week(visitor.now, visitor.zone)
    user: User = request.user  # type: ignore[assignment]  # the gate lets nobody else in
    asked = team_request(user, slug, week)
    asked.visitor, asked.chip = visitor, chip_of(request)  # type: ignore[attr-defined]  # read once
    mail = mail_of(asked, user, slug)
    return None if mail is None else letter_of(mail)
