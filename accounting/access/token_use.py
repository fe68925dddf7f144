"""When a token was last used."""

from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from accounting.access.models.tokens import ApiToken

NOTED_EVERY = timedelta(minutes=1)  # at most one write a minute for a token in use


def note_use(token: ApiToken) -> None:
    """Store when a token was last used, to the minute.

    Args:
        token: as just read. Nothing is written while the last use that it shows is recent.
    """
    known = token.last_used_at
    if known is not None and timezone.now() - known < NOTED_EVERY:
        return
    is_older = Q(last_used_at__isnull=True) | Q(last_used_at__lt=Now() - NOTED_EVERY)
    ApiToken.objects.filter(is_older, pk=token.pk).update(last_used_at=Now())
