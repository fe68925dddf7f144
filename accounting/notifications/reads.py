"""Who wants which messages, and who may read them."""

from collections.abc import Mapping
from contextlib import suppress

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Count, Q, QuerySet

from accounting.access.scope import person_of
from accounting.notifications.models import Notification, NotificationKind


def is_wanted(user: AbstractBaseUser, kind: NotificationKind | str) -> bool:
    """Whether a person with an active account has not turned off a kind of messages."""
    person = person_of(user)
    return user.is_active and (person is None or kind not in person.muted)


def recipient_of(to: str) -> User | str | None:
    """Whom a name or an address means: a person, else the address; None for other text."""
    if not to:
        return None
    known = User.objects.filter(Q(username=to) | Q(email__iexact=to)).first()
    return known or (to if _is_address(to) else None)


def _is_address(text: str) -> bool:
    with suppress(ValidationError):
        validate_email(text)
        return True
    return False


def readable_messages(
    user: AbstractBaseUser | AnonymousUser, *, is_all: bool
) -> QuerySet[Notification]:
    """Messages to a person, newest first, or to everybody."""
    found = Notification.objects.select_related("person")
    return found if is_all else found.filter(person=user.pk or 0)


def counts_by_state(messages: QuerySet[Notification]) -> Mapping[str, int]:
    """How many messages are in each state that any is in."""
    return dict(messages.order_by().values_list("state").annotate(Count("pk")))
