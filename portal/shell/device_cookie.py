"""A signed cookie with the accounts that have signed in before in a browser.

It is not a session: it only gives the browser a separate limit of sign-in attempts, while guesses
in other browsers are limited (`accounting.organization.actions.sign_in_attempts`).
"""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

SALT = "portal.shell.device_cookie"
LASTS_S = 365 * 86400
MOST_ACCOUNTS = 8  # of one browser; the one that was not used for longest is removed


def devices_of(request: HttpRequest) -> dict[str, str]:
    """The value that identifies this browser to each account that signed in here, by user id."""
    text = request.COOKIES.get(settings.DEVICE_COOKIE_NAME, "")
    try:
        found = signing.loads(text, salt=SALT, max_age=LASTS_S)
    except signing.BadSignature:
        return {}
    return {str(user): str(device) for user, device in found.items()}


def remember_device(
    request: HttpRequest, answer: HttpResponseBase, user_id: int
) -> None:
    """Store in the browser that this account signed in here."""
    devices = devices_of(request)
    devices[str(user_id)] = devices.pop(str(user_id), "") or secrets.token_urlsafe(16)
    newest = dict(list(devices.items())[-MOST_ACCOUNTS:])
    answer.set_cookie(
        settings.DEVICE_COOKIE_NAME,
        signing.dumps(newest, salt=SALT),
        max_age=LASTS_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
