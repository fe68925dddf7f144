"""Random fleets by number, against the oracle: values alone, a file, and files in any order.

`make test` takes 25 numbers and prints them; they are new ones each time, as the same 25
fleets would find nothing after their first run (`test_drawn` has fixed ones, for quick
answers). `make soak ORACLE_FLEETS=500` takes as many as one wants (soak.py). Each number is
one fleet for ever, as long as the generator stays as it is: `ORACLE_SEED=17 ORACLE_FLEETS=1`.
"""

import os
import sys
import tempfile
from dataclasses import replace

import pytest

from tests.oracle.both import differs
from tests.oracle.comparison import files, imported, retired, start, wrong
from tests.oracle.fleets import scrape
from tests.oracle.ledger import ledger
from tests.oracle.pieces import WAYS, cut
from tests.oracle.seeds import fleet_of, smaller, theme_of
from tests.oracle.situations import situations

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

COUNT = int(os.environ.get("ORACLE_FLEETS") or 25)
FIRST = int(os.environ["ORACLE_SEED"])  # tests/conftest.py draws one
STRIDE = int(os.environ.get("ORACLE_STRIDE") or 1)
SHOWN = 12  # lines of a difference


@pytest.mark.parametrize("number", [FIRST + STRIDE * n for n in range(COUNT)])
def test_a_fleet(number: int) -> None:
    plan = fleet_of(number)
    samples = scrape(plan)
    done = (number - FIRST) // STRIDE
    tell(f"ORACLE_SEED={number} after {done} fleets, {theme_of(number)}")
    tell("what happens: " + "; ".join(situations(samples, plan.setup)))
    book = ledger(samples, plan.setup)
    agrees(number, "the domain alone", differs(samples, plan.setup, book))
    with tempfile.TemporaryDirectory() as folder:
        start(plan.setup)
        imported(files([samples], folder))
        agrees(number, "one file", wrong(book))
        way = WAYS[number % len(WAYS)], number
        start(replace(plan.setup, retired=None))
        paths = files(cut(samples, way), folder)
        for path in paths:
            imported([path])
        retired(plan.setup)
        imported(paths[:1])
        agrees(number, f"files {way[0]}", wrong(book))
    tell(f"{done + 1} fleets")


def tell(line: str) -> None:
    """Say where we are, to whoever reads it (soak.py)."""
    sys.stdout.write(f"\n{line}\n")
    sys.stdout.flush()


def agrees(number: int, how: str, found: list[str]) -> None:
    """Nothing differs; else what does, and how to see it again."""
    if not found:
        return
    more = len(found) - SHOWN
    lines = [*found[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
    if COUNT == 1:
        lines += [
            "",
            "A smaller fleet of which the domain alone differs:",
            *smaller(number),
        ]
    again = f"make soak ORACLE_FLEETS=1 ORACLE_SEED={number}"
    pytest.fail(
        "\n".join(
            [f"Fleet {number}, {how}: differs", *lines, f"Again, smaller: {again}"]
        ),
        pytrace=False,
    )
