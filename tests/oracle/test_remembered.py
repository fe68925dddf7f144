"""An oracle that remembers windows says what one that remembers nothing says.

Samples come late, into windows that were remembered long ago, and change what is known of
those before and after them.
"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.budgets import examples, seconds
from tests.oracle.ledger import Known, ledger
from tests.oracle.samples import WINDOW, Sample, window_of
from tests.oracle.world import DIVIDED, World

HELD = ("n0", "n1")


def happens(world: World, dice: random.Random) -> None:
    """Something happens in a cluster."""
    machine = world.machine(dice.choice(HELD))
    match dice.randrange(10):
        case 0 | 1:
            node, units = dice.choice([*HELD, DIVIDED]), dice.randint(1, 2)
            name = dice.choice(["train", "serve"])
            world.start_pod(node, units, name, is_labelled=dice.random() < 0.5)
        case 2 if world.running():
            how = dice.choice(["gone", "Succeeded", "Failed"])
            world.end_pod(dice.choice(world.running()), how)
        case 3:
            world.swap(machine.name)
        case 4:
            world.divide(dice.randint(0, 5))
        case 5:
            machine.naming = "exported" if machine.naming == "plain" else "plain"
        case 6:
            machine.silent_until = world.now + 30 * dice.randint(1, 30)
        case 7:
            world.restarts += 1
        case 8:
            machine.hidden_until = world.now + 30 * dice.randint(2, 8)
        case _:
            world.kube_silent_until = world.now + 30 * dice.randint(1, 30)


@pytest.mark.timeout(seconds(300))
@settings(max_examples=examples(6), deadline=None)
@given(st.integers(0, 2**31))
def test_a_window_is_remembered_while_all_that_is_read_is_the_same(seed: int) -> None:
    dice, world, known = random.Random(seed), World(seed), Known()
    read: list[Sample] = world.pass_time(4)
    late: list[Sample] = []
    for _ in range(16):
        happens(world, dice)
        for sample in world.pass_time(dice.randint(1, 8), lost=dice.choice([0, 0.2])):
            (late if dice.random() < 0.1 else read).append(sample)
        if dice.random() < 0.2:
            read += late
            late = []
        remembering, forgetting = ledger(read, known=known), ledger(read)
        assert remembering.facts == forgetting.facts
        assert remembering.holds == forgetting.holds


def test_windows_that_nothing_new_touches_are_not_computed_again() -> None:
    world, known = World(1), Known()
    read = world.pass_time(60)
    ledger(read, known=known)
    first = dict(known)
    read += world.pass_time(2)
    ledger(read, known=known)
    old = [w for w in first if w < window_of(read[-1].at) - WINDOW]
    assert old
    assert all(known[window] is first[window] for window in old)


def test_a_late_sample_changes_a_remembered_window() -> None:
    world, known = World(1), Known()
    samples = world.pass_time(60)
    busy = next(
        s for s in samples[300:] if s.name.endswith("ENGINE_ACTIVE") and s.value
    )
    read = [s for s in samples if s is not busy]
    before = ledger(read, known=known).facts
    after = ledger(samples, known=known).facts
    assert before != after == ledger(samples).facts
