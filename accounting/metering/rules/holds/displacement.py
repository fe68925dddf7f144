"""Holds that end by absence when a later bind needs their units (rules.md N11)."""

from collections import defaultdict
from dataclasses import replace

from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.nodes import node_facts
from accounting.metering.rules.inventory.records import Inventory


def make_room(
    holds: list[Hold], inventory: Inventory, absent: dict[tuple[str, str], int]
) -> list[Hold]:
    """End absent holds when a later bind needs their units (N11).

    Args:
        holds: by node, bind and uid.
        inventory: for the capacity of nodes.
        absent: last sample of the pods whose hold ends by absence.
    """
    result = list(holds)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, hold in enumerate(holds):
        if not hold.is_unit:
            continue
        groups[hold.node, hold.resource].append(i)
    for (node, resource), members in groups.items():
        for position, i in enumerate(members):
            bind = result[i].bound_ms
            facts = node_facts(inventory.nodes.get(node), bind)
            limit = facts.capacity.get(resource)
            if limit is None:
                continue
            active = [j for j in members[: position + 1] if result[j].active_at(bind)]
            held = sum(result[j].units for j in active)
            leaving = sorted(
                (absent[result[j].uid, node], result[j].uid, j)
                for j in active
                if j != i and absent.get((result[j].uid, node), bind) < bind
            )
            for _, _, j in leaving:
                if held <= limit:
                    break
                held -= result[j].units
                result[j] = _ended_at(result[j], bind)
    return result


def _ended_at(hold: Hold, bind_ms: int) -> Hold:
    """An absent hold, ended by a later bind that needs its units."""
    inferred = hold.inferred_from_ms
    if inferred is not None and inferred >= bind_ms:
        inferred = None
    return replace(
        hold,
        ended_ms=bind_ms,
        booked_until_ms=bind_ms,
        ended_by="gone",
        inferred_from_ms=inferred,
    )
