"""The end of what a person signed in with: sessions, and links to choose a password."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounting.access.models.account import Account, SignInOutcome, SignInRecord


def end_sessions(user: AbstractBaseUser) -> None:
    """Delete the sessions of a person, so that no cookie of theirs works again."""
    Session.objects.filter(session_key__in=sessions_of(user)).delete()


def sessions_of(user: AbstractBaseUser) -> list[str]:
    """The keys of the sessions of a person that have not expired.

    A session names its person inside its encoded data: all of them are read.
    """
    mine = str(user.pk)
    unexpired = Session.objects.filter(expire_date__gt=timezone.now())
    return [
        session.session_key
        for session in unexpired.iterator()
        if session.get_decoded().get(SESSION_KEY) == mine
    ]


class PasswordLinks(PasswordResetTokenGenerator):
    """Tokens of links to choose a password; each change of the account and a later link end them.

    Django's tokens end with a sign-in or a new password. These end with a deactivation as well, and
    stay so when the account becomes active again.
    """

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        events = Account.objects.filter(pk=user.pk).order_by("-events__pgh_id")
        newest = events.values_list("events__pgh_id", flat=True).first()
        links = SignInRecord.objects.filter(
            account=user.get_username(), outcome=SignInOutcome.LINK
        )
        last = links.order_by("-pk").values_list("pk", flat=True).first()
        return f"{super()._make_hash_value(user, timestamp)}{newest}-{last}"


password_links = PasswordLinks()
