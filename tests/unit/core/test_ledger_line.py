"""Lines of the ledger, one by one and as tables."""

import numpy as np

from accounting.core.ledger_line import LINE, STATES, LedgerLine, LineTable


def table(node: str, *rows: tuple[int, int, str]) -> LineTable:
    """Lines (gpu, busy ms, pod) of a node with the GPUs `<node>-0` and `<node>-1`."""
    uids = sorted({uid for _, _, uid in rows})
    found = np.zeros(len(rows), LINE)
    for n, (gpu, busy, uid) in enumerate(rows):
        found[n]["gpu"], found[n]["uid"] = gpu, uids.index(uid)
        found[n]["busy_ms"], found[n]["instance"] = busy, -1
        found[n]["flags"], found[n]["metric"] = 2, 1
        found[n]["samples_expected"], found[n]["samples_used"] = 10, 9
    gpus = ((node, f"{node}-0"), (node, f"{node}-1"))
    return LineTable(gpus, tuple(uids), found)


def test_the_seven_states_sum_to_presence() -> None:
    ms = {f"{state}_ms": 10**n for n, state in enumerate(STATES)}
    assert LedgerLine("G", "n", -1, "", **ms).total_ms == 1_111_111
    assert LedgerLine("G", "n", -1, "", over_share_ms=5).total_ms == 0


def test_a_row_is_a_line() -> None:
    assert list(table("a", (1, 250, "x")).lines()) == [
        LedgerLine(
            *("a-1", "a", -1, "x"),
            busy_ms=250,
            flags=2,
            metric=1,
            samples_expected=10,
            samples_used=9,
        )
    ]
