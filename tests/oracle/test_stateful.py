"""A cluster that lives, step by step, and a ledger that is right after each of them.

Rules: time passes, samples are lost, held back, late or come twice; pods start, end and
move; exporters fall silent, start again, change their labels, reset their counters; GPUs
are swapped; kube-state restarts, one of its shards falls silent, a node object vanishes;
prices and bindings change; two processes work beside each other, one is killed
at a failpoint. After each step the invariants of docs/architecture.md hold, and the facts
and holds are the oracle's: I1 replay, I2 order, I3 time, I4 half-open, I5 rollups, I8
determinism, I9 gaps, I10 backfill, I11 counters, I13 one writer.

It takes as many steps as fit into 7 seconds, or `STATEFUL_STEPS` of them (`make soak
STATEFUL_STEPS=1000000`: long walks are there); it begins with `STATEFUL_SEED`, and prints every
seed that it uses.
"""

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.integration.faults.forks import Warm
from tests.integration.faults.support import environment
from tests.oracle.machine import Living, warm

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(0),
]

SECONDS = 7  # each run draws other seeds; `make soak` takes as long as one wants
EXAMPLES = 3  # of one seed; the first is the simplest that there is
STEPS = 16  # of one example; each step costs more when more has happened before


@pytest.fixture(autouse=True)
def processes(redis_url: str) -> Iterator[None]:
    """Product processes, for as long as the test runs."""
    warm.append(Warm(environment(redis_url)))
    yield
    warm.pop().close()


def test_the_ledger_is_right_after_every_step() -> None:
    wanted = int(os.environ.get("STATEFUL_STEPS", "0"))
    number = int(os.environ.get("STATEFUL_SEED", "0")) or time.time_ns() % 2**31
    stride = int(os.environ.get("STATEFUL_STRIDE", "1"))
    until = time.monotonic() + SECONDS
    Living.steps = 0
    while Living.steps < wanted if wanted else time.monotonic() < until:
        sys.stdout.write(f"STATEFUL_SEED={number} after {Living.steps} steps\n")
        sys.stdout.flush()
        one: Any = seed(number)(type("Living", (Living,), {}))
        run_state_machine_as_test(
            one,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
        number += stride
    sys.stdout.write(f"{Living.steps} steps\n")
    assert Living.steps
