"""Who wants which messages."""

from django.contrib.auth.models import AbstractBaseUser

from accounting.access.scope import person_of
from accounting.notifications.models import NotificationKind


def is_wanted(user: AbstractBaseUser, kind: NotificationKind | str) -> bool:
    """Whether a person with an active account has not turned off a kind of messages."""
    person = person_of(user)
    return user.is_active and (person is None or kind not in person.muted)
