"""How many examples tests draw: few in `make test`, any number in `make soak EXAMPLES=1000`.

With `EXAMPLES` set, each test of `make soak EXAMPLES=` draws that many and has no time limit.
"""

import os

WANTED = int(os.environ.get("EXAMPLES") or 0)


def examples(usual: int) -> int:
    """The number of examples: `usual` in `make test`, else what `EXAMPLES` says."""
    return WANTED or usual


def seconds(usual: float) -> float:
    """The time limit of a test; 0, which is none, with `EXAMPLES`."""
    return 0 if WANTED else usual
