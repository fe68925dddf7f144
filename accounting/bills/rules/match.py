"""The node or cluster that a row of a bill is of (money.md M42)."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import NamedTuple

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


class MachineSpan(NamedTuple):
    """A node was a machine of a provider on these billing days, both included."""

    node_id: int
    cluster_id: int
    provider_id: str
    first: date
    last: date


class Match(NamedTuple):
    """What a row is of.

    Attributes:
        word: one of `words.MATCHED` or `words.UNMATCHED`.
    """

    word: str
    node_id: int | None = None
    cluster_id: int | None = None


def provider_key(provider_id: str) -> str:
    """A node's id at its provider, without scheme and leading slashes, casefolded."""
    folded = provider_id.strip().casefold()
    scheme = _SCHEME.match(folded)
    return (folded[scheme.end() :] if scheme else folded).lstrip("/")


def resource_key(resource: str) -> str:
    """The resource of a row, without leading slashes, casefolded."""
    return resource.strip().casefold().lstrip("/")


def last_part(key: str) -> str:
    """What follows the last `/` or `:` of a key."""
    return re.split("[/:]", key)[-1]


class Directory:
    """The nodes of some days, by the ids that a bill may have.

    Args:
        spans: which machine each node was, and when.
        gpu_days: nodes and days with GPU time.
        accounts: the clusters of accounts (`Cluster.billing_account`).
    """

    def __init__(
        self,
        spans: Iterable[MachineSpan],
        gpu_days: Collection[tuple[int, int, date]],
        accounts: Mapping[str, int],
    ) -> None:
        self._whole: dict[str, list[MachineSpan]] = defaultdict(list)
        self._last: dict[str, list[MachineSpan]] = defaultdict(list)
        for span in spans:
            key = provider_key(span.provider_id)
            self._whole[key].append(span)
            self._last[last_part(key)].append(span)
        self._node_days = {(node, day) for node, _, day in gpu_days}
        self._cluster_days = {(cluster, day) for _, cluster, day in gpu_days}
        self._accounts = accounts

    def match(self, day: date, resource: str, sub_account: str, account: str) -> Match:
        """What a row of a billing day is of: a node, else the cluster of its account.

        Args:
            day: the billing day.
            resource, sub_account, account: ResourceId, SubAccountId, BillingAccountId; "" for none.
        """
        found = self._node(day, resource)
        if found.node_id is not None:
            return found
        cluster = self._accounts.get(sub_account) if sub_account else None
        if cluster is None:
            cluster = self._accounts.get(account)
        if cluster is None:
            return found
        if (cluster, day) not in self._cluster_days:
            return Match("no_gpu")
        return Match("account", None, cluster)

    def _node(self, day: date, resource: str) -> Match:
        key = resource_key(resource)
        if not key:
            return Match("no_resource")
        word, nodes = "node", _on(self._whole.get(key, ()), day)
        if not nodes:
            part = last_part(key)
            word, nodes = (
                "last_part",
                _on(self._last.get(part, ()) if part else (), day),
            )
        if not nodes:
            return Match("unknown")
        if len(nodes) > 1:
            return Match("ambiguous")
        ((node_id, cluster_id),) = nodes.items()
        if (node_id, day) not in self._node_days:
            return Match("no_gpu")
        return Match(word, node_id, cluster_id)


def _on(spans: Iterable[MachineSpan], day: date) -> dict[int, int]:
    """The nodes of a day with their clusters."""
    return {
        span.node_id: span.cluster_id
        for span in spans
        if span.first <= day <= span.last
    }
