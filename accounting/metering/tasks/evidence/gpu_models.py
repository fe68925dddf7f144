"""The model name of each GPU: from its samples, else from its node.

A price needs a name. Samples of Gaudi have no model name, guests do not see the model of an AMD
card, and GPUs without an exporter have no samples.
"""

from collections.abc import Iterable, Mapping

from django.db import connection

from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.rules.inventory.nodes import node_facts
from accounting.metering.rules.inventory.records import GpuRecord, Inventory, NodeRecord
from accounting.metering.rules.units.gpu_units import NodeFacts
from accounting.metering.sources.catalogue import normal_model
from accounting.metering.sql.dirty_hours_sql import mark_spans


def model_of_node(said: NodeFacts) -> str:
    """The model name of a node's GPUs that have no other name."""
    return normal_model(said.product or said.likely_model)


def models_of(inventory: Inventory, uuids: Iterable[str]) -> dict[str, str]:
    """The model name of each of these GPUs; empty if not known."""
    return {uuid: _model(inventory.gpus[uuid], inventory) for uuid in uuids}


def _model(record: GpuRecord, inventory: Inventory) -> str:
    if record.model or not record.spans:
        return record.model
    places = record.nodes()
    latest = max(places, key=lambda name: (places[name][-1].last_ms, name))
    node = inventory.nodes.get(latest)
    return "" if node is None else model_of_node(_last_facts(node))


def _last_facts(node: NodeRecord) -> NodeFacts:
    return node_facts(
        node, max((at for at, _ in (*node.capacity, *node.labels)), default=0)
    )


def forget_likely(inventory: Inventory) -> None:
    """Remove stored names that are only likely: samples may have better ones."""
    likely: dict[str, set[str]] = {}
    for record in inventory.gpus.values():
        for place in record.spans:
            if place.node not in likely:
                likely[place.node] = _likely(inventory.nodes.get(place.node))
            if record.model in likely[place.node]:
                record.model = ""


def _likely(node: NodeRecord | None) -> set[str]:
    """Every likely name, including the time before labels were known (N24)."""
    if node is None:
        return set()
    changes = {at for at, _ in (*node.capacity, *node.labels)}
    said = [node_facts(node, at) for at in changes]
    said += [NodeFacts(capacity) for _, capacity in node.capacity]
    return {normal_model(facts.likely_model) for facts in said}


def rename(cluster: Cluster, inventory: Inventory, models: Mapping[str, str]) -> None:
    """Rename GPUs that had no name, or a likely one; their hours become due again.

    Args:
        cluster, inventory: of the GPUs.
        models: of the GPUs that were sampled.
    """
    likely = {
        "",
        *(name for node in inventory.nodes.values() for name in _likely(node)),
    }
    rows = Gpu.objects.filter(cluster=cluster, model__in=likely)
    found: list[tuple[int, str]] = []
    for pk, uuid, model, is_placeholder in rows.values_list(
        "pk", "uuid", "model", "is_placeholder"
    ):
        wanted = models.get(uuid, model)
        node = inventory.nodes.get(uuid.rpartition("/")[0])
        if is_placeholder and node is not None:
            wanted = model_of_node(_last_facts(node))
        if wanted != model:
            found.append((pk, wanted))
    if found:
        with connection.cursor() as cursor:
            cursor.execute(
                _RENAME,
                {
                    "gpus": [pk for pk, _ in found],
                    "names": [name for _, name in found],
                    "cluster": cluster.pk,
                    "reason": "model",
                },
            )


_RENAME = """
    WITH renamed AS (
        UPDATE accounting_gpu g SET model = n.model
        FROM unnest(%(gpus)s::int[], %(names)s::text[]) AS n(id, model)
        WHERE g.id = n.id RETURNING g.id
    )""" + mark_spans("""
    SELECT p.start_ms AS low_ms, p.end_ms AS high_ms
    FROM renamed JOIN accounting_gpupresence p ON p.gpu_id = renamed.id
""")
