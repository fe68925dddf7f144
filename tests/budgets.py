"""The budgets of tests: small in `make test`, larger in `make soak`.

With `EXAMPLES` set (`make soak EXAMPLES=1000`), each test that draws examples draws that many and
has no time limit. With `FULL_SIZE` set (`make soak FULL_SIZE=1`), tests of large data take all of
it.
"""

import os

WANTED = int(os.environ.get("EXAMPLES") or 0)
IS_FULL = bool(os.environ.get("FULL_SIZE"))


def examples(usual: int) -> int:
    """The number of examples: `usual` in `make test`, else what `EXAMPLES` says."""
    return WANTED or usual


def seconds(usual: float) -> float:
    """The time limit of a test; 0, which is none, with `EXAMPLES`."""
    return 0 if WANTED else usual


def size(usual: int, full: int) -> int:
    """The amount of data of a test: `usual` in `make test`, `full` with `FULL_SIZE`."""
    return full if IS_FULL else usual
