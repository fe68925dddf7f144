"""Authentication of API clients: `Authorization: Bearer ...`."""

from typing import Any

from knox.auth import TokenAuthentication
from rest_framework import exceptions

from accounting.access.token_use import note_use


class BearerAuthentication(TokenAuthentication):  # type: ignore[misc]  # untyped
    """Authentication of knox that also stores the last use and rejects malformed tokens as wrong
    ones.
    """

    def authenticate_credentials(self, token: bytes) -> Any:
        """The person and the token; rejects unknown, expired and deactivated ones."""
        try:
            person, known = super().authenticate_credentials(token)
        except UnicodeDecodeError as error:
            raise exceptions.AuthenticationFailed("Invalid token.") from error
        note_use(known)
        return person, known
