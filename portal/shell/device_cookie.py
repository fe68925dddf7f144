"""A signed cookie that says in which accounts a browser has signed in before.

It is not a sign-in: it only lets such a browser try a password while guesses from elsewhere are
slowed down (`accounting.actions.sign_in`).
"""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

SALT = "portal.shell.device_cookie"
LASTS_S = 365 * 86400
MOST_ACCOUNTS = 8  # of one browser; the one that was not used for longest goes


def devices_of(request: HttpRequest) -> dict[str, str]:
    """What identifies this browser to each account that signed in here, by user id."""
    text = request.COOKIES.get(settings.DEVICE_COOKIE_NAME, "")
    try:
        found = signing.loads(text, salt=SALT, max_age=LASTS_S)
    except signing.BadSignature:
        return {}
    return {str(user): str(device) for user, device in found.items()}


def remember_device(
    request: HttpRequest, answer: HttpResponseBase, user_id: int
) -> None:
    """Let the browser keep that this account signed in here."""
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
