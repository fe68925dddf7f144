"""A person's API tokens, without their secrets."""

from dataclasses import dataclass
from datetime import datetime

from accounting.access.models.tokens import ApiToken


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One token; `key` is its public prefix."""

    key: str
    name: str
    scopes: tuple[str, ...]
    created: datetime
    expiry: datetime | None
    last_used_at: datetime | None


def token_rows(user_id: int) -> list[TokenRow]:
    """Tokens, newest first."""
    rows = ApiToken.objects.filter(user_id=user_id).order_by("-created")
    return [
        TokenRow(
            row.token_key,
            row.name,
            tuple(row.scopes),
            row.created,
            row.expiry,
            row.last_used_at,
        )
        for row in rows
    ]
