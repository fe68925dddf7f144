"""Ways to give a fleet's samples to an importer in several files."""

import random
from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from tests.oracle.samples import Sample

WAYS = ("in time", "newest first", "kube-state last", "kube-state first", "interleaved")


def pieces() -> st.SearchStrategy[tuple[str, int]]:
    """A way to cut, and a seed for where."""
    return st.tuples(st.sampled_from(WAYS), st.integers(0, 2**16))


def cut(samples: Sequence[Sample], how: tuple[str, int]) -> list[list[Sample]]:
    """The samples in files; each has a metric, and a scrape is never divided."""
    way, seed = how
    dice = random.Random(seed)
    if way.startswith("kube-state"):
        found = [
            [s for s in samples if not s.name.startswith("kube_")],
            [s for s in samples if s.name.startswith("kube_")],
        ]
        return _whole(found if way.endswith("last") else reversed(found))
    times = sorted({s.at for s in samples})
    if way == "interleaved":
        of = {at: dice.randrange(3) for at in times}
        return _whole([s for s in samples if of[s.at] == n] for n in range(3))
    cuts = sorted(dice.choices(times, k=dice.randint(1, 3)))
    edges = [times[0], *cuts, times[-1] + 1]
    found = [
        [s for s in samples if low <= s.at < high]
        for low, high in zip(edges, edges[1:], strict=False)
    ]
    return _whole(found if way == "in time" else reversed(found))


def _whole(found: Iterable[Sequence[Sample]]) -> list[list[Sample]]:
    """Files with a metric: one of nothing but `up` is refused, so it joins the next."""
    files: list[list[Sample]] = []
    left: list[Sample] = []
    for samples in found:
        left += samples
        if any(s.name != "up" for s in left):
            files.append(left)
            left = []
    if left and files:
        files[-1] += left
    return files
