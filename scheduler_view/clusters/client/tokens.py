"""The token of an access: its file, and until when it is valid.

A token of a service account is a JWT with its time of issue and its end. They are read without
verification: they are only shown, and the API server decides.
"""

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from scheduler_view.clusters.client.access import ClusterAccess
from scheduler_view.clusters.client.errors import Unauthorized

IN_CLUSTER = "/var/run/secrets/kubernetes.io/serviceaccount/token"


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret.

    Attributes:
        file: that it was read from.
        issued, expires: None if it does not say.
    """

    file: str
    issued: datetime | None = None
    expires: datetime | None = None


def token_of(access: ClusterAccess) -> Token | None:
    """The token of an access; None without one, or if its file cannot be read."""
    try:
        file, text = _file_and_text(access)
    except (
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        RecursionError,
        yaml.YAMLError,
    ):
        return None
    if not text or not isinstance(text, str):
        return None
    claims = _claims(text)
    return Token(file, _time(claims.get("iat")), _time(claims.get("exp")))


def named(error: Unauthorized, access: ClusterAccess, now: datetime) -> Unauthorized:
    """A rejected identity with the file of its token, and when it expired."""
    token = token_of(access)
    if token is None:
        return error
    text = f"the API server does not accept the token in {token.file}: {error.message}"
    if token.expires is not None and token.expires <= now:
        text = (
            f"the token in {token.file} expired at {token.expires:%Y-%m-%d %H:%M} UTC: write a "
            f"new one to this file ({error.message})"
        )
    return Unauthorized(text, error.code, error.retry_after_s)


def _file_and_text(access: ClusterAccess) -> tuple[str, object]:
    if access.in_cluster:
        return IN_CLUSTER, Path(IN_CLUSTER).read_text()
    if access.token_file:
        return access.token_file, Path(access.token_file).read_text()
    if not access.kubeconfig:
        return "", ""
    path = Path(access.kubeconfig).expanduser()
    user = _user_of(yaml.safe_load(path.read_text()), access.context)
    if file := user.get("tokenFile"):
        found = path.parent / file  # as kubectl: beside the kubeconfig
        return str(found), found.read_text()
    return str(path), user.get("token") or ""


def _user_of(config: dict[str, Any], context: str) -> dict[str, Any]:
    name = context or config.get("current-context", "")
    for one in config.get("contexts") or ():
        if one["name"] == name:
            for user in config.get("users") or ():
                if user["name"] == one["context"]["user"]:
                    return user.get("user") or {}
    return {}


def _claims(token: str) -> dict[str, Any]:
    """The content of a JWT; empty for another kind of token."""
    parts = token.strip().split(".")
    if len(parts) != 3:
        return {}
    try:
        text = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _time(seconds: object) -> datetime | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    if not seconds > 0:  # no token is so old
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
