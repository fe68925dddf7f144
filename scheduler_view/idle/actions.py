"""What people do about an idle holder: a message to its owner is recorded, or it is ignored."""

from datetime import date, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from accounting.access.reads.billing_settings import billing_day
from accounting.access.scope import scope_of
from accounting.kit.audit import act
from accounting.kit.inputs import body, reason, value
from accounting.kit.locks import lock
from accounting.kit.outcomes import Done, RefusalCode, Refused
from accounting.kit.tags.units import short_day
from accounting.notifications.actions import ask
from scheduler_view.idle.models import IdleAct, IdleNote
from scheduler_view.idle.reads import IdleRow, idle_row

AGAIN = timedelta(days=1)  # until a holder may be asked about again
LONGEST = timedelta(days=92)  # of ignoring a holder


@body("IdleAsk")
class AskOwner:
    """A message about an idle holder."""

    to: str = value(
        size=(0, 253),
        default="",
        page={"label": "To", "help_text": "A person, an address or a channel."},
    )
    text: str = value(
        size=(10, 2000),
        page={
            "label": "Message",
            "rows": 9,
            "help_text": "Recorded for everybody who sees this holder, and sent to a person with an"
            " account or to a mail address.",
        },
    )


@body("IdleIgnore")
class IgnoreHolder:
    """Until when an idle holder is not listed."""

    until: date = value("the last day", page={"label": "Until the end of"})
    reason: str = reason()


def ask_owner(number: int, given: AskOwner, person: AbstractBaseUser) -> Done:
    """Send a message to the owner, and record it for all who see the holder.

    It is sent to a person with an account or to a mail address; else it is recorded only.

    Raises:
        Refused: there is no such holder, or somebody asked about it within a day.
    """
    to = given.to.strip()
    with transaction.atomic():
        lock("idle-notes", number)  # the same form, sent twice, is one message
        row = _found(number, person)
        if row.asked_at and timezone.now() - row.asked_at < AGAIN:
            text = f"{row.asked_by} asked about {row.name} less than a day ago"
            raise Refused(text, RefusalCode.CONFLICT)
        with act(person, f"Asked about {row.name}"):
            note = _store(row, IdleAct.ASKED, given.text, person, to=to)
            subject, key = f"{row.name} is idle", f"idle:{note.pk}"
            delivery = ask(to, subject, given.text, key=key)
    told = f"Your message about {row.name} is recorded."
    return Done(row.id, text=f"{told} {delivery.format(to=to)}" if to else told)


def ignore_holder(number: int, given: IgnoreHolder, person: AbstractBaseUser) -> Done:
    """Leave a holder out of the list until a day.

    Raises:
        Refused: there is no such holder, it is ignored already, or the day is past or too far away.
    """
    row = _found(number, person)
    if row.ignored_until:
        text = f"{row.name} is ignored until {row.ignored_until} already"
        raise Refused(text, RefusalCode.CONFLICT)
    today = billing_day(timezone.now())
    if not today <= given.until <= today + LONGEST:
        text = f"choose a day from {today} to {today + LONGEST}"
        raise Refused(text, member="until")
    with act(person, given.reason):
        _store(row, IdleAct.IGNORED, given.reason, person, until=given.until)
    return Done(
        row.id,
        text=f"{row.name} is not listed until the end of {short_day(given.until)}.",
    )


def _found(number: int, person: AbstractBaseUser) -> IdleRow:
    scope = scope_of(person)
    row = idle_row(scope, number)
    if row is None or not (scope.sees_all or row.team_id in scope.lead_of):
        raise Refused("no such idle holder; it may work again", RefusalCode.MISSING)
    return row


def _store(
    row: IdleRow,
    kind: IdleAct,
    text: str,
    person: AbstractBaseUser,
    *,
    to: str = "",
    until: date | None = None,
) -> IdleNote:
    (cluster, workload, pod), _ = row.key
    return IdleNote.objects.create(
        cluster_id=cluster,
        team_id=row.team_id or None,
        workload_id=workload or None,
        pod_id=pod or None,
        act=kind,
        since_ms=row.since_ms,
        to=to,
        text=text,
        until=until,
        by_id=person.pk,
        at=timezone.now(),
    )
