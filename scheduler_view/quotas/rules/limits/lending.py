"""What queues of one tree lend each other, and who holds what a queue waits for.

Schedulers report what a queue uses, not whose quota it is. Units above a quota come from unused
quotas of the same tree, flavor and resource: of one lender the number is exact, of several only
its bounds are known (docs/quotas.md, "All limits").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from accounting.metering.rules.inventory.scheduler_queues import UNLIMITED
from scheduler_view.clusters.rules.schedulers.queue_fields import shown
from scheduler_view.clusters.rules.wording import few
from scheduler_view.quotas.rules.limits.queue_node import QueueName, QueueNode, roots

Key = tuple[QueueName, str, str]  # name, flavor, resource


@dataclass(frozen=True, slots=True)
class Lending:
    """One resource of one queue among the others of its tree.

    Attributes:
        borrowed: units above its quota; None if not reported.
        least, most: units of its quota that others use; None if not reported.
        holders: queues of its tree that use more than their quota of it, the largest first, with
            that number of units; only if work waits in this one.
        is_full: the tree has nothing left of it.
    """

    borrowed: Fraction | None = None
    least: Fraction | None = None
    most: Fraction | None = None
    holders: tuple[tuple[str, Fraction], ...] = ()
    is_full: bool = False

    @property
    def lent(self) -> str:
        """`4`, `2 to 4`; empty if not known."""
        if self.least is None or self.most is None:
            return ""
        low, high = amount(self.least), amount(self.most)
        return low if low == high else f"{low} to {high}"


def lending(nodes: Sequence[QueueNode]) -> dict[Key, Lending]:
    """The lending of each node that has a quota of its own."""
    tops = roots(nodes)
    above = {one.parent for one in nodes if one.parent is not None}
    groups: dict[Key, list[QueueNode]] = {}
    for one in nodes:
        # What a parent of Volcano or KAI uses is the sum of its children.
        is_sum = one.name in above and one.name.kind not in _OWN_QUOTA
        if one.is_lent_from and one.quota is not None and not is_sum:
            key = (tops[one.name], one.flavor, one.resource)
            groups.setdefault(key, []).append(one)
    return {
        (one.name, one.flavor, one.resource): _of(one, own)
        for own in groups.values()
        for one in own
    }


_OWN_QUOTA = ("ClusterQueue", "Cohort")  # what they have besides their children


def _of(one: QueueNode, tree: Sequence[QueueNode]) -> Lending:
    others = [node for node in tree if node is not one]
    free = [node.unused for node in tree if node.unused is not None]
    taken = [node.borrowed for node in tree if node.borrowed is not None]
    if len(free) < len(tree) or len(taken) < len(tree):
        return Lending(one.borrowed)
    borrowed = sum(taken, Fraction(0))
    own = one.unused or Fraction(0)
    rest = sum((node.unused or Fraction(0) for node in others), Fraction(0))
    by_others = borrowed - (one.borrowed or Fraction(0))
    most = min(own, by_others)
    least = min(most, max(Fraction(0), borrowed - rest))
    holders: tuple[tuple[str, Fraction], ...] = ()
    if one.waits:
        above = [(node.name.name, node.borrowed) for node in others if node.borrowed]
        holders = tuple(sorted(above, key=lambda item: (-item[1], item[0])))
    left = one.left or Fraction(0)  # a limit of lending does not bind the queue itself
    has_any = any(node.quota for node in tree)
    is_full = has_any and left + rest <= borrowed
    return Lending(one.borrowed, least, most, holders, is_full)


def waiting_text(one: QueueNode, found: Lending, *, names: bool) -> str:
    """Why work waits in a queue, and who holds what it waits for; empty if none waits.

    Args:
        one: the queue.
        found: its lending.
        names: False for people who may not read names of other queues.
    """
    if one.stopped:
        return one.stopped
    if not one.waits:
        return ""
    begin = f"{_waiting(one)} not admitted."
    held = found.holders
    if held and (found.most or found.is_full):
        total = sum((units for _, units in held), Fraction(0))
        who = (
            few([f"{name} {amount(units)}" for name, units in held])
            if names
            else f"other queues {amount(total)}"
        )
        lent = (
            f"{found.lent} of its {amount(one.quota)} are lent: " if found.most else ""
        )
        return f"{begin} {lent}{who} above their quota."
    if isinstance(one.may_borrow, Fraction) and found.borrowed == one.may_borrow:
        return f"{begin} It uses its quota and all that it may borrow."
    if isinstance(one.most, Fraction) and one.used is not None and one.used >= one.most:
        return f"{begin} It uses all that it may use."
    return f"{begin} All quotas of its tree are used." if found.is_full else begin


def _waiting(one: QueueNode) -> str:
    if one.asked:
        return f"{amount(one.asked)} GPUs are"
    noun = "pod group" if one.name.kind == "VolcanoQueue" else "workload"
    number = one.waiting or 0
    return f"1 {noun} is" if number == 1 else f"{number:,} {noun}s are"


def amount(value: Fraction | str | None) -> str:
    """`8`, `0.5`, `unlimited`; empty if it is not set or not reported."""
    if value is None:
        return ""
    return UNLIMITED if isinstance(value, str) else shown(round(float(value), 3))
