"""Named places at which a test can stop a worker; armed by the environment only.

`GPU_LEDGER_FAILPOINT=name` ends the process there without any clean-up (as `kill -9` does);
`name:raise` raises, `name:sleep:SECONDS` waits. Unarmed they cost one dictionary look-up.
"""

import os
import time

NAMES = (
    "claimed",
    "read",
    "observed",
    "attributed",
    "facts_deleted",
    "facts_copied",
    "before_commit",
    "committed",
    "rolled_up",
)
_ARMED = os.environ.get("GPU_LEDGER_FAILPOINT", "")


class FailpointError(RuntimeError):
    """Raised at a failpoint that is armed with `raise`."""


def reach(name: str) -> None:
    """Pass a named place.

    Raises:
        ValueError: no failpoint has this name.
        FailpointError: armed with `raise`.
    """
    if name not in NAMES:
        raise ValueError(f"no failpoint is called {name!r}")
    armed, _, what = _ARMED.partition(":")
    if armed != name:
        return
    if not what:
        os._exit(137)
    if what.startswith("sleep:"):
        time.sleep(float(what.removeprefix("sleep:")))
        return
    raise FailpointError(f"failpoint {name}")
