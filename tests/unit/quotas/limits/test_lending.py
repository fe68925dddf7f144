"""What queues of one tree lend each other: exact with one lender, bounds with several."""

from fractions import Fraction
from typing import Any

import pytest

from scheduler_view.quotas.rules.limits.lending import lending, waiting_text
from scheduler_view.quotas.rules.limits.queue_node import (
    QueueName,
    QueueNode,
    in_order,
    roots,
)

GPU = "nvidia.com/gpu"


def cohort(name: str) -> QueueName:
    return QueueName("Cohort", "", name)


def queue(
    name: str, quota: int, used: int | None, above: str = "all", **more: Any
) -> QueueNode:
    """A ClusterQueue of one flavor."""
    may_lend = more.pop("may_lend", None)
    return QueueNode(
        QueueName("ClusterQueue", "", name),
        cohort(above) if above else None,
        "a100",
        GPU,
        quota=Fraction(quota),
        used=None if used is None else Fraction(used),
        may_lend=None if may_lend is None else Fraction(may_lend),
        **more,
    )


def lent(*nodes: QueueNode) -> dict[str, str]:
    return {key[0].name: one.lent for key, one in lending(nodes).items()}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([queue("a", 8, 3), queue("b", 4, 8)], {"a": "4", "b": "0"}),
        ([queue("a", 8, 3), queue("b", 4, 4)], {"a": "0", "b": "0"}),
        (
            [queue("a", 8, 4), queue("b", 8, 4), queue("c", 0, 6)],
            {"a": "2 to 4", "b": "2 to 4", "c": "0"},
        ),
        (
            [queue("a", 8, 0, may_lend=2), queue("b", 4, 6)],
            {"a": "2", "b": "0"},
        ),
        ([queue("a", 8, None), queue("b", 4, 8)], {"a": "", "b": ""}),
        ([queue("a", 8, 0, above=""), queue("b", 4, 8)], {"a": "0", "b": "0"}),
    ],
)
def test_borrowed_units_come_from_unused_quotas_of_the_tree(
    nodes: list[QueueNode], expected: dict[str, str]
) -> None:
    assert lent(*nodes) == expected


def test_a_quota_of_a_cohort_above_is_lent_too() -> None:
    top = QueueNode(
        cohort("top"), None, "a100", GPU, quota=Fraction(4), used=Fraction(0)
    )
    middle = QueueNode(cohort("all"), cohort("top"))
    assert lent(top, middle, queue("a", 2, 5)) == {"top": "3", "a": "0"}


def test_a_parent_of_volcano_does_not_lend_beside_its_children() -> None:
    def volcano(name: str, quota: int, used: int, above: str) -> QueueNode:
        return QueueNode(
            QueueName("VolcanoQueue", "", name),
            QueueName("VolcanoQueue", "", above) if above else None,
            resource=GPU,
            quota=Fraction(quota),
            used=Fraction(used),
        )

    root = QueueNode(QueueName("VolcanoQueue", "", "root"))
    research = volcano("research", 8, 8, "root")
    nodes = [
        root,
        research,
        volcano("a", 6, 2, "research"),
        volcano("b", 2, 6, "research"),
    ]
    assert lent(*nodes) == {"a": "4", "b": "0"}


@pytest.mark.parametrize(
    ("one", "others", "text"),
    [
        (queue("a", 8, 3), [], ""),
        (
            queue("a", 8, 4, waiting=2),
            [queue("b", 4, 8)],
            "2 workloads are not admitted. 4 of its 8 are lent: b 4 above their quota.",
        ),
        (
            queue("a", 4, 4, waiting=1),
            [queue("b", 4, 4)],
            "1 workload is not admitted. All quotas of its tree are used.",
        ),
        (queue("a", 4, 0, waiting=1), [], "1 workload is not admitted."),
        (
            queue("a", 4, 0, waiting=1, stopped="It is on hold: nothing is admitted."),
            [],
            "It is on hold: nothing is admitted.",
        ),
    ],
)
def test_who_holds_what_a_queue_waits_for(
    one: QueueNode, others: list[QueueNode], text: str
) -> None:
    found = lending([one, *others])[one.name, one.flavor, one.resource]
    assert waiting_text(one, found, names=True) == text


def test_names_of_other_queues_are_left_out_for_leads() -> None:
    one, other = queue("a", 8, 4, waiting=2), queue("secret", 4, 8)
    found = lending([one, other])[one.name, one.flavor, one.resource]
    text = waiting_text(one, found, names=False)
    assert text == (
        "2 workloads are not admitted. 4 of its 8 are lent: other queues 4 above their quota."
    )


def test_a_tree_is_listed_from_the_top_and_a_circle_is_listed_too() -> None:
    nodes = [
        QueueNode(QueueName("LocalQueue", "ns", "jobs"), queue("a", 1, 0).name),
        queue("b", 1, 0),
        queue("a", 1, 0),
        QueueNode(cohort("all")),
        QueueNode(cohort("x"), cohort("y")),
        QueueNode(cohort("y"), cohort("x")),
    ]
    lines = [(line.depth, line.node.name.name) for line in in_order(nodes)]
    assert lines == [(0, "all"), (1, "a"), (2, "jobs"), (1, "b"), (0, "x"), (0, "y")]
    assert roots(nodes)[cohort("x")] == roots(nodes)[cohort("y")] == cohort("x")


def test_a_tree_of_any_depth_is_listed() -> None:
    depth = 3_000
    nodes = [
        QueueNode(cohort(f"c{n:04}"), cohort(f"c{n - 1:04}") if n else None)
        for n in range(depth)
    ]
    assert [line.depth for line in in_order(reversed(nodes))] == [*range(depth)]
    assert set(roots(nodes[::-1]).values()) == {cohort("c0000")}


def test_what_leads_into_a_circle_has_its_root() -> None:
    nodes = [queue("a", 1, 0, "b"), QueueNode(cohort("b"), cohort("c"))]
    nodes.append(QueueNode(cohort("c"), cohort("b")))
    assert set(roots(nodes).values()) == {cohort("b")}
