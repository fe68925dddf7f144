"""API tokens of people, and what they may do."""

from datetime import datetime

import pghistory
from django.db import models
from knox.models import AbstractAuthToken


@pghistory.track(exclude=["digest", "last_used_at"])
class ApiToken(AbstractAuthToken):  # type: ignore[misc]  # untyped
    """A bearer token of one person; only its digest is stored.

    A token never has more permissions than its owner; `scopes` limits it further. Its history
    shows when it was created and revoked, and never contains the digest.
    """

    id: "models.BigAutoField[int, int]" = models.BigAutoField(primary_key=True)
    digest: "models.CharField[str, str]" = models.CharField(max_length=128, unique=True)
    name: "models.CharField[str, str]" = models.CharField(max_length=100)
    scopes = models.JSONField(
        default=list
    )  # such as ["read:usage"]; see accounting.access.scope
    last_used_at: "models.DateTimeField[datetime | None, datetime | None]" = (
        models.DateTimeField(null=True, blank=True)
    )

    class Meta(AbstractAuthToken.Meta):  # type: ignore[misc]  # untyped
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="token_name_unique")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.token_key})"
