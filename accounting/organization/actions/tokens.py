"""API tokens: shown once, stored as digests, never with more permissions than their owner."""

from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError

from accounting.access.models.tokens import ApiToken
from accounting.kit.audit import act
from accounting.kit.outcomes import Refused

SCOPES = (
    "read:usage",
    "read:ledger",
    "read:holds",
    "read:gpus",
    "read:gpu-holders",
    "read:gpu-steps",
    "read:teams",
    "read:bindings",
    "read:prices",
    "read:price-lists",
    "read:conversion-rates",
    "read:clusters",
    "read:data-issues",
    "read:kube-state-jobs",
    "read:quotas",
    "read:limits",
    "read:queues",
    "read:queue-values",
    "read:waiting",
    "read:queued-units",
    "read:resource-pools",
    "read:node-notes",
    "read:wait-times",
    "read:preemptions",
    "read:idle-holders",
    "read:alerts",
    "read:inbox",
    "read:waste",
    "read:waste-bridge",
    "read:recommendations",
    "read:what-ifs",
    "read:tiers",
    "read:change-sets",
    "read:audit",
    "read:budgets",
    "read:anomalies",
    "read:contests",
    "read:bills",
    "read:periods",
    "read:methods",
    "read:statements",
    "read:charges",
    "read:corrections",
    "read:adjustments",
    "read:exports",
    "write:teams",
    "write:bindings",
    "write:prices",
    "write:price-lists",
    "write:conversion-rates",
    "write:kube-state-jobs",
    "write:idle-holders",
    "write:alerts",
    "write:budgets",
    "write:contests",
    "write:bills",
    "write:periods",
    "write:adjustments",
    "write:exports",
    "write:change-sets",
    "write:what-ifs",
)
LONGEST = timedelta(days=365)
USUAL = timedelta(days=90)


def create_token(
    *,
    owner: AbstractBaseUser,
    name: str,
    scopes: Sequence[str],
    lifetime: timedelta = USUAL,
) -> tuple[ApiToken, str]:
    """Create a token; its secret is returned once and never shown again.

    Raises:
        Refused: the owner already has a token of this name.
        ValueError: an unknown scope, or a lifetime of more than a year.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        raise ValueError(f"unknown scope {unknown[0]!r}")
    if not timedelta(0) < lifetime <= LONGEST:
        raise ValueError("a token is valid for at most one year")
    try:
        with act(owner, f"token {name}"):
            token, secret = ApiToken.objects.create(
                user=owner, expiry=lifetime, name=name, scopes=sorted(set(scopes))
            )
    except IntegrityError:
        raise Refused(
            f"You already have a token named {name!r}. Revoke it first, or choose another name.",
            member="name",
        ) from None
    return token, secret


def revoke_token(
    *, owner: AbstractBaseUser, token_key: str, actor: AbstractBaseUser | None = None
) -> bool:
    """Revoke a token; False if the owner has none with this key.

    Args:
        owner: of the token.
        token_key: its public prefix.
        actor: an administrator; by default the owner.
    """
    with act(actor or owner, "token revoked"):
        found = ApiToken.objects.filter(user=owner, token_key=token_key)
        count, _ = found.delete()
    return bool(count)


def revoke_all(owner: AbstractBaseUser) -> list[str]:
    """Revoke every token of a person, in the transaction of the caller; their names."""
    found = ApiToken.objects.filter(user=owner).order_by("name")
    names = list(found.values_list("name", flat=True))
    found.delete()
    return names
