"""Lines of the ledger, one by one and as tables."""

import numpy as np

from accounting.domain.core.ledger_line import (
    LINE,
    NO_LINES,
    STATES,
    LedgerLine,
    LineTable,
    joined,
)


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


def test_some_gpus_are_left_out() -> None:
    left = table("a", (0, 1, "x"), (1, 2, "y")).without(frozenset({0}))
    assert [(line.uuid, line.busy_ms) for line in left.lines()] == [("a-1", 2)]


def test_joined_tables_keep_whose_line_each_is() -> None:
    one, two = table("a", (0, 1, "x"), (1, 2, "")), table("b", (1, 4, "y"), (0, 8, ""))
    found = joined([one, NO_LINES, two, table("c", (1, 16, "x"))])
    assert len(found) == 5
    assert {(x.node, x.uuid, x.pod_uid, x.busy_ms) for x in found.lines()} == {
        ("a", "a-0", "x", 1),
        ("a", "a-1", "", 2),
        ("b", "b-1", "y", 4),
        ("b", "b-0", "", 8),
        ("c", "c-1", "x", 16),
    }
    assert sorted(found.uids) == ["", "x", "y"]
    assert [x.uuid for x in one.lines()] == ["a-0", "a-1"]


def test_one_table_or_none_is_joined_as_it_is() -> None:
    one = table("a", (0, 1, "x"))
    assert joined([NO_LINES, one]) is one
    assert joined([]) is joined([NO_LINES]) is NO_LINES
