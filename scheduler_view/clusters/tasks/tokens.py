"""Tokens of clusters that expire: a data issue a week and a day before, and after their end.

A token that lives shorter than that is renewed by a program, such as the kubelet: for it, only its
end counts.
"""

from datetime import datetime, timedelta

from accounting.core.interval import to_ms
from accounting.core.issue import Issue
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.data_issues import record
from scheduler_view.clusters.client.access import AccessRole, access_of, is_configured
from scheduler_view.clusters.client.errors import NotConfigured
from scheduler_view.clusters.client.tokens import Token, token_of

CODE = "cluster_token"
WARN, URGE = timedelta(days=7), timedelta(days=1)


def note_tokens(cluster: Cluster, now: datetime) -> None:
    """Open an issue for each token of a cluster that expires soon; resolve the others."""
    found = []
    for role in AccessRole:
        if not is_configured(cluster.kubernetes, role):
            continue
        try:
            token = token_of(access_of(cluster.name, cluster.kubernetes, role))
        except NotConfigured:
            continue
        if token is not None:
            found += _issues(role, token, now)
    record.replace(cluster.pk, [CODE], found)


def _issues(role: AccessRole, token: Token, now: datetime) -> list[Issue]:
    expires = token.expires
    if expires is None:
        return []
    life = expires - token.issued if token.issued else None
    began = [
        expires - before
        for before in (WARN, URGE, timedelta())
        if now >= expires - before and (life is None or life > before)
    ]
    if not began:
        return []
    verb = "expired" if now >= expires else "expires"
    return [
        Issue(
            CODE,
            f"{role.value}: {token.file}",
            f"The token of the {role.value} in {token.file} {verb} at "
            f"{expires:%Y-%m-%d %H:%M} UTC.",
            to_ms(began[0]),
            to_ms(now),
            severity="error" if now >= expires - URGE else "warning",
        )
    ]
