"""What the resources of bills are matched to: nodes and clusters of each day (money.md M42)."""

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import billing_day, billing_remembered
from accounting.bills.models import Bill
from accounting.bills.rules.match import Directory, MachineSpan
from accounting.core.interval import to_instant
from accounting.kit.audit import Actor, act
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.bulk_copy import copying

BATCH = 10_000
_TABLE = """
    CREATE TEMPORARY TABLE bill_match (
        bill bigint, billing_on date, sub_account text, resource text,
        word text, node_id bigint, cluster_id smallint
    ) ON COMMIT DROP
"""
_SPANS = """
    SELECT p.node_id, n.cluster_id, p.provider_id, p.first_ms, p.last_ms
    FROM accounting_nodeprovider p JOIN accounting_node n ON n.id = p.node_id
"""
_GPU_DAYS = """
    SELECT DISTINCT node_id, cluster_id, billing_on FROM usage_gpu_day
    WHERE billing_on BETWEEN %s AND %s
"""
_UPDATE = """
    UPDATE accounting_billline l
    SET word = m.word, node_id = m.node_id, cluster_id = m.cluster_id
    FROM bill_match m
    WHERE l.bill_id = m.bill AND l.billing_on = m.billing_on
      AND l.sub_account = m.sub_account AND l.resource = m.resource
      AND (l.word, l.node_id, l.cluster_id) IS DISTINCT FROM (m.word, m.node_id, m.cluster_id)
"""


def match_again(bill: Bill, *, actor: Actor) -> int:
    """Match the lines of a bill by what is known of nodes today; returns how many changed."""
    with act(actor, "Match the lines of a bill again"):
        match_all(
            "SELECT DISTINCT bill_id, billing_on, sub_account, resource"
            f" FROM accounting_billline WHERE bill_id = {bill.pk:d}",
            {bill.pk: bill.account},
        )
        with connection.cursor() as cursor:
            cursor.execute(_UPDATE)
            return int(cursor.rowcount)


def match_all(
    query: str,
    accounts: dict[int, str],
    between: Callable[[], None] = lambda: None,
) -> None:
    """Fill the temporary table `bill_match`, in the transaction of the caller.

    Args:
        query: gives bill, billing_on, sub_account, resource.
        accounts: BillingAccountId by bill.
        between: called before each batch; may raise to end the work.
    """
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bill_match")
        cursor.execute(_TABLE)
        cursor.execute(f"SELECT min(billing_on), max(billing_on) FROM ({query}) days")
        first, last = cursor.fetchone()
    if first is None:
        return
    directory = _directory(first, last)
    for batch in _batches(query):
        between()
        with copying("COPY bill_match FROM STDIN") as copy:
            for bill, day, sub_account, resource in batch:
                found = directory.match(day, resource, sub_account, accounts[bill])
                copy.write_row((bill, day, sub_account, resource, *found))


def _batches(query: str) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of a query from a cursor on the server: another statement may run between batches."""
    with connection.cursor() as cursor:
        cursor.execute(f"DECLARE bill_resources NO SCROLL CURSOR FOR {query}")
        try:
            while True:
                cursor.execute(f"FETCH {BATCH} FROM bill_resources")
                rows = cursor.fetchall()
                if not rows:
                    break
                yield rows
        finally:
            cursor.execute("CLOSE bill_resources")


def _directory(first: date, last: date) -> Directory:
    """Nodes and clusters of the billing days from first to last."""
    with connection.cursor() as cursor, billing_remembered():
        cursor.execute(_SPANS)
        spans = [
            MachineSpan(node, cluster, provider_id, _day(first_ms), _day(last_ms))
            for node, cluster, provider_id, first_ms, last_ms in cursor.fetchall()
        ]
        cursor.execute(_GPU_DAYS, [first, last])
        gpu_days = set(cursor.fetchall())
    clusters = Cluster.objects.exclude(billing_account="")
    accounts = dict(clusters.values_list("billing_account", "pk"))
    return Directory(spans, gpu_days, accounts)


def _day(at_ms: int) -> date:
    return billing_day(to_instant(at_ms))
