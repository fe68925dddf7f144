"""The generator makes each situation that the rules speak of, often enough to be met.

Situations are read from samples alone (situations.py). Each theme has forty numbers to make
all that it is about; a soak prints how often each was met.
"""

from itertools import count, islice

import pytest

from tests.oracle.fleets import scrape
from tests.oracle.seeds import fleet_of, theme_of
from tests.oracle.situations import SITUATIONS, situations
from tests.oracle.themes import NAMES

TRIES = 40
OF_THEME = {
    "sharded": [
        "sharded kube-state",
        "pod and node on different shards",
        "shards with replicas",
        "one shard is silent",
    ],
    "sharded and divided": ["sharded kube-state"],
    "restarted": ["kube-state restarted"],
    "silent": ["Pending before a silence", "name reused in a silence"],
    "vanishing": ["node object missing, pod shown", "node and pod away and back"],
    "foreign": [
        "another job of known objects",
        "another job of other objects",
        "jobs are set",
    ],
    "invented": ["UUIDs beyond the capacity"],
    "AMD": [name for name in SITUATIONS if name.startswith("AMD")],
    "suspect": [name for name in SITUATIONS if name.startswith("zeros on MIG")],
    "percent": [
        "percent under a ratio's name",
        "copies of few wrong values",
        "wrong values of a declared name",
    ],
    "lasting": [
        "another job after an hour",
        "labels older than an hour",
        "kube-state restarted after long",
    ],
    "retired": ["samples after the end of a cluster"],
    "priced": ["lifecycle in snake case"],
    "divided by 100": [name for name in SITUATIONS if name.startswith("only 0 and 1")],
}


def test_every_situation_is_some_themes() -> None:
    assert {name for names in OF_THEME.values() for name in names} == set(SITUATIONS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", OF_THEME)
def test_a_theme_makes_what_it_is_about(theme: str) -> None:
    left = set(OF_THEME[theme])
    first = next(n for n in count(1) if theme_of(n) == theme)
    for number in islice(count(first, len(NAMES)), TRIES):
        plan = fleet_of(number)
        left -= set(situations(scrape(plan), plan.setup))
        if not left:
            return
    pytest.fail(f"never made in {TRIES} fleets: {', '.join(sorted(left))}")
