"""Which machine of a provider a node was, from samples in one piece or several (money.md M42)."""

from pathlib import Path

import pytest

from accounting.metering.models.evidence import NodeProvider
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import clear, run

pytestmark = pytest.mark.django_db(transaction=True)
HALF = HOUR_ZERO + 1800
END = HOUR_ZERO + 3600


def test_pieces_in_any_order_come_to_the_same(tmp_path: Path) -> None:
    text = Text()
    text.node("n1", 2, times(HOUR_ZERO, END))
    for at in times(HOUR_ZERO, END):
        machine = "aws:///a/i-1" if at < HALF + 600 else "aws:///a/i-2"
        text.add("kube_node_info", {"node": "n1", "provider_id": machine}, 1, at)
    found = []
    for pieces in (
        [(HOUR_ZERO, END)],
        [(HOUR_ZERO, HALF), (HALF, END)],
        [(HALF, END), (HOUR_ZERO, HALF)],
    ):
        clear()
        for n, (start, end) in enumerate(pieces):
            piece = text.write(tmp_path / f"{n}.om", text.between(start, end))
            run("import_metrics", "--cluster=north", piece)
        rows = NodeProvider.objects.order_by("first_ms")
        found.append(list(rows.values_list("provider_id", "first_ms", "last_ms")))
    assert found[0] == found[1] == found[2]
    assert [machine for machine, *_ in found[0]] == ["aws:///a/i-1", "aws:///a/i-2"]
    assert found[0][0][1] == HOUR_ZERO * 1000
