"""Namespaces without a team and models without a price: they wait for an administrator."""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

from django.db.models.expressions import RawSQL

from accounting.access.reads.billing_settings import billing_at
from accounting.access.scope import Scope
from accounting.core.interval import HOUR_MS
from accounting.core.read_once import read_once
from accounting.health.reads.issues import UNMAPPED, UNPRICED_GPU, namespace_rates
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.metering.models.ledger import DataIssue
from accounting.prices.rules.charge import charge_of, raw_of

NAMESPACE, MODEL = "namespace", "model"

# As of the newest data: what has a rule or a price by now is done, although its earlier time stays
# without one. An issue of hours is as new as the data, or an hour older. For GPUs whose model no
# source says there is no price. A retired cluster has no newer data: nothing would end its rows.
_OPEN = f"""
    SELECT i.id, i.code FROM accounting_dataissue i JOIN accounting_cluster c ON c.id = i.cluster_id
    WHERE i.code IN ('{UNMAPPED}', '{UNPRICED_GPU}') AND i.resolved_at IS NULL
      AND i.severity <> 'info' AND i.subject <> 'no model' AND c.retired_at IS NULL
      AND i.last_seen > coalesce(to_timestamp((c.data_end_ms - {HOUR_MS}) / 1000.0), '-infinity')
"""


_COUNT = f"SELECT count(*) FROM ({_OPEN}) i WHERE %(admin)s AND i.code = '{{code}}'"


@read_once
def _open() -> Sequence[DataIssue]:
    """Of both kinds, with their clusters; one query."""
    chosen = RawSQL(f"SELECT id FROM ({_OPEN}) o", ())  # noqa: S611  # constants
    found = DataIssue.objects.filter(pk__in=chosen)
    return [*found.select_related("cluster").order_by("first_seen", "pk")]


def _namespaces(asker: Asker) -> list[InboxRow]:
    issues = [one for one in _open() if one.code == UNMAPPED]
    rates = namespace_rates(issues)
    currency = billing_at(asker.at).currency
    found = []
    for one in issues:
        rate = rates.get((one.cluster_id or 0, one.subject))
        amount = None if rate is None else charge_of(raw_of(one.at_stake_ms, rate))
        found.append(_namespace(one, amount, currency))
    return found


def _namespace(one: DataIssue, amount: Decimal | None, currency: str) -> InboxRow:
    return InboxRow(
        kind=NAMESPACE,
        what=f"Namespace {one.subject} has no team",
        about=f"On {one.cluster}. No team pays for it",
        amount=amount,
        currency="" if amount is None else currency,
        gpu_ms=one.at_stake_ms,
        since=one.first_seen,
        does="Map to a team",
        route="binding-add",
        query={"namespace": one.subject},
    )


def _models(asker: Asker) -> list[InboxRow]:
    del asker
    return [
        InboxRow(
            kind=MODEL,
            what=f"{one.subject} has no price",
            about=f"On {one.cluster}. Its cost is missing in all totals",
            gpu_ms=one.at_stake_ms,
            since=one.first_seen,
            does="Set a price",
            route="price-add",
            query={"model": one.subject},
        )
        for one in _open()
        if one.code == UNPRICED_GPU
    ]


def _done(
    kind: str, code: str, outcome: str, route: str
) -> Callable[[Scope, datetime], Sequence[DoneRow]]:
    def read(scope: Scope, since: datetime) -> Sequence[DoneRow]:
        """Nobody is named: who added the rule or the price is in the audit log."""
        if not scope.sees_all:
            return []
        ended = DataIssue.objects.filter(code=code, resolved_at__gte=since)
        found = ended.values_list("subject", "resolved_at")
        return [
            DoneRow(kind, subject, outcome, "", at, route)
            for subject, at in found
            if at
        ]

    return read


NAMESPACES = Kind(
    NAMESPACE,
    "Namespace",
    "attribution",
    lambda scope: scope.is_admin,
    _COUNT.format(code=UNMAPPED),
    _namespaces,
    _done(NAMESPACE, UNMAPPED, "Has a team for all of its time", "attribution"),
)
MODELS = Kind(
    MODEL,
    "GPU model",
    "prices",
    lambda scope: scope.is_admin,
    _COUNT.format(code=UNPRICED_GPU),
    _models,
    _done(MODEL, UNPRICED_GPU, "Has a price for all of its time", "prices"),
)
