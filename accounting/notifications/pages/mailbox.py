"""Messages: those to the visitor, and for administrators all; what a person turned off."""

from collections.abc import Mapping

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounting.access.reads.teams import visible_teams
from accounting.access.rights import ADMINISTRATION, SIGNED_IN
from accounting.kit.outcomes import Refused
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import posted, signed_in, visitor_of
from accounting.notifications.actions import send_again
from accounting.notifications.models import (
    Notification,
    NotificationKind,
    NotificationState,
)
from accounting.notifications.pages.mail_frame import (
    has_frame,
    mail_answer,
    mail_document,
)
from accounting.notifications.reads import counts_by_state, readable_messages
from accounting.notifications.rules import KEPT
from accounting.organization.actions.preferences import set_preferences

TONES = {
    NotificationState.WAITING: "mute",
    NotificationState.SENT: "ok",
    NotificationState.FAILED: "danger",
    NotificationState.NOT_SENT: "warn",
}
ENDED_BADLY = (NotificationState.FAILED, NotificationState.NOT_SENT)


@signed_in
def notifications(request: HttpRequest) -> HttpResponse:
    """Messages to the visitor, newest first; with `?of=all` those to everybody."""
    visitor = visitor_of(request)
    may_all = ADMINISTRATION.allows(visitor.scope)
    is_all = may_all and request.GET.get("of") == "all"
    found = readable_messages(request.user, is_all=is_all)
    numbers = paged([*found.values_list("pk", flat=True)], request.GET.dict())
    rows = found.defer("text", "html").in_bulk(numbers.lines)
    person = visitor.person
    muted = person.muted if person else []
    context = {
        "page": numbers.drawn(lambda number: _line(rows[number])),
        "sentences": [_told(counts_by_state(found), is_all=is_all)],
        "is_all": is_all,
        "may_all": may_all,
        "has_server": bool(settings.EMAIL_HOST),
        "address": getattr(request.user, "email", ""),
        "previews": [
            team
            for team in visible_teams(visitor.scope).values()
            if visitor.scope.sees_all or team.id in visitor.scope.lead_of
        ],
        "kinds": [(*kind, kind[0] not in muted) for kind in NotificationKind.choices],
    }
    return render(request, "notifications/notifications.html", context)


@posted(SIGNED_IN, belongs_to="notifications")
def notification_choices(request: HttpRequest) -> HttpResponse:
    """Store which kinds of messages the visitor wants."""
    wanted = set(request.POST.getlist("kind"))
    muted = [kind for kind in NotificationKind.values if kind not in wanted]
    set_preferences(actor=request.user, muted=muted)  # type: ignore[arg-type]  # the gate lets nobody else in
    messages.success(request, "Your choice is saved.")
    return redirect("notifications")


@has_frame
@signed_in
def notification(request: HttpRequest, number: int) -> HttpResponse:
    """One message: its state, its text, and its document in a frame."""
    message = _found(request, number)
    may_all = ADMINISTRATION.allows(visitor_of(request).scope)
    context = {
        **_line(message),
        "may_send": may_all and message.state in ENDED_BADLY,
        "may_all": may_all,
    }
    return render(request, "notifications/notification.html", context)


@mail_document
@signed_in
def notification_mail(request: HttpRequest, number: int) -> HttpResponse:
    """The document of a message."""
    message = _found(request, number)
    if not message.html:
        raise Http404("the message is plain text")
    return mail_answer(request, message.html)


@posted(ADMINISTRATION, belongs_to="notification")
def notification_send(request: HttpRequest, number: int) -> HttpResponse:
    """Send a message that failed or was not sent again."""
    message = _found(request, number)
    try:
        send_again(message.pk, request.user)  # type: ignore[arg-type]  # the gate lets nobody else in
    except Refused as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, "The message waits to be sent.")
    return redirect("notification", message.pk)


def _told(counts: Mapping[str, int], *, is_all: bool) -> list[tuple[str, bool]]:
    """`3 messages to you in the last 90 days, 1 failed.`, with its figures marked."""
    count = sum(counts.values())
    who = "everybody" if is_all else "you"
    parts = [
        (f"{count:,} message{'' if count == 1 else 's'}", True),
        (f" to {who} in the last {KEPT.days} days", False),
    ]
    for state in (NotificationState.WAITING, *ENDED_BADLY):
        if counts.get(state):
            parts += [(", ", False), (f"{counts[state]:,}", True)]
            parts += [(f" {state.label.lower()}", False)]
    return [*parts, (".", False)]


def _found(request: HttpRequest, number: int) -> Notification:
    may_all = ADMINISTRATION.allows(visitor_of(request).scope)
    found = readable_messages(request.user, is_all=may_all).filter(pk=number).first()
    if found is None:
        raise Http404("no such message")
    return found


def _line(message: Notification) -> dict[str, object]:
    return {
        "message": message,
        "to": message.person.get_username() if message.person else message.address,
        "kind": message.get_kind_display(),
        "status": message.get_state_display(),
        "tone": TONES[NotificationState(message.state)],
    }
