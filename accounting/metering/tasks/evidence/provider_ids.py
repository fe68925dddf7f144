"""Saves which machine of a provider a node was, and when: its id is on the provider's bill.

The first sample is a minimum and the last one a maximum, so that samples read in pieces or in
another order come to the same rows. Nothing of it is loaded: time does not depend on it.
"""

from django.db import connection

from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.tasks.evidence.ids import Ids

_SAVE = """
    INSERT INTO accounting_nodeprovider AS known (node_id, provider_id, first_ms, last_ms)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[])
    ON CONFLICT (node_id, provider_id) DO UPDATE
    SET first_ms = least(known.first_ms, excluded.first_ms),
        last_ms = greatest(known.last_ms, excluded.last_ms)
    WHERE excluded.first_ms < known.first_ms OR excluded.last_ms > known.last_ms
"""
LONGEST = 500  # characters; a longer text is not a machine's id


def save(inventory: Inventory, ids: Ids) -> None:
    """Extend the time of each id that a merge saw."""
    rows = [
        (ids.nodes[name], provider_id, first_ms, last_ms)
        for name, node in sorted(inventory.nodes.items())
        for provider_id, (first_ms, last_ms) in sorted(node.provider_ids.items())
        if len(provider_id) <= LONGEST
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, [list(column) for column in zip(*rows, strict=True)])
