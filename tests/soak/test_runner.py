"""The runner of soaks: it counts, shares seeds among workers, and ends with what fails.

The tests that it runs here are tiny ones, which print what the real ones print.
"""

import io
from pathlib import Path

import pytest

from tests.oracle.soak import Kind, Soak, time_left

TINY = """
import os

FIRST, COUNT = int(os.environ["TINY_SEED"]), int(os.environ["TINY_THINGS"])
STRIDE = int(os.environ["TINY_STRIDE"])


def test_things() -> None:
    for done in range(COUNT):
        number = FIRST + STRIDE * done
        print(f"TINY_SEED={number} after {done} things")
        print("what happens: " + ("odd; any" if number % 2 else "any"))
        assert number != BAD, "a bad number"
        print(f"{done + 1} things")
"""


def soak(folder: Path, *, bad: int, wanted: int) -> tuple[int, str, Soak]:
    """Exit status and words of a soak that fails at a number."""
    path = folder / "test_tiny.py"
    path.write_text(f"BAD = {bad}\n{TINY}")
    kind = Kind("TINY", "things", str(path), 4, "all fine")
    out = io.StringIO()
    one = Soak(kind, wanted, first=10, count=2, out=out)
    return one.run(), out.getvalue(), one


@pytest.mark.timeout(120)
def test_a_soak_takes_every_seed_once_and_counts_what_happens(tmp_path: Path) -> None:
    """Eleven seeds from 10 on, of two workers, in processes of four: 5 are odd."""
    status, words, one = soak(tmp_path, bad=-1, wanted=11)
    assert status == 0
    assert one.done == 11
    assert [worker.seed for worker in one.workers] == [22, 21]  # the next of each
    assert words.splitlines()[-3:] == [
        "    11  any",
        "     5  odd",
        "11 things, all fine",
    ]


@pytest.mark.timeout(120)
def test_a_soak_ends_with_the_first_seed_that_fails_and_says_how_to_repeat_it(
    tmp_path: Path,
) -> None:
    status, words, _ = soak(tmp_path, bad=12, wanted=1000)
    assert status == 1
    assert "a bad number" in words
    assert words.endswith(
        "Seed 12 fails. To repeat it:\n  make soak TINY_THINGS=1 TINY_SEED=12\n"
    )


def test_time_left_is_not_known_before_anything_is_done() -> None:
    assert time_left(0, 500, 40) == "time left not known yet"
    assert time_left(100, 500, 60) == "4 min left"
    assert time_left(10, 500, 900) == "12.2 hours left"
