"""Billing accounts of clusters: their bills are of the cluster as a whole (money.md M42)."""

from accounting.metering.models.cluster import Cluster
from accounting.setup.tasks.schema_clusters import ClusterSpec


class AccountError(ValueError):
    """A billing account that another cluster has; nothing was written."""


def account_of(spec: ClusterSpec) -> str:
    """The account of a provider that pays for the cluster alone; "" for none.

    Raises:
        AccountError: another cluster has it.
    """
    account = spec.billing_account or ""
    others = Cluster.objects.filter(billing_account=account).exclude(name=spec.name)
    if account and (other := others.first()):
        raise AccountError(
            f"cluster {spec.name}: billing_account {account} belongs to {other.name}, and a bill "
            "cannot belong to both; leave it out where several clusters share an account"
        )
    return account
