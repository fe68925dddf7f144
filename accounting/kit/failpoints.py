"""Named places at which a test can stop a worker; activated by the environment only.

`GPU_LEDGER_FAILPOINT=name` ends the process there by SIGKILL, `name:kill:N` at the N-th time;
`name:raise` raises, `name:sleep:SECONDS` waits, `name:until:FILE` waits for a file. If not
activated, they cost one lookup.
"""

import os
import signal
import time
from pathlib import Path

NAMES = (  # of measuring
    "kept",
    "claimed",
    "read",
    "folded",
    "observed",
    "attributed",
    "facts_deleted",
    "facts_copied",
    "before_commit",
    "committed",
    "rolling_up",
    "rolling_up_by_gpu",
    "rolled_up_by_gpu",
    "rolled_up",
)
RETIREMENT_NAMES = ("retiring_day", "retired_day")
CLOSE_NAMES = ("period_computed", "period_stored", "period_closed")
WASTE_NAMES = ("waste_day_computing", "waste_day_computed")
IDLE_NAMES = ("idle_finding",)
NOTIFICATION_NAMES = ("notification_sent", "notification_stored")
ALERT_NAMES = ("alerts_stored", "alerts_told")
CLOSE_REQUEST_NAMES = ("close_claimed", "close_refused")
EXPORT_NAMES = ("export_part", "export_written")
PLAN_NAMES = ("plan_tried",)
PUSH_NAMES = ("step_marked", "step_sent", "step_recorded", "class_removed")
KNOWN = frozenset(
    (
        *(*NAMES, *RETIREMENT_NAMES, *CLOSE_NAMES, *CLOSE_REQUEST_NAMES),
        *(*EXPORT_NAMES, *WASTE_NAMES, *IDLE_NAMES, *PLAN_NAMES, *PUSH_NAMES),
        *(*ALERT_NAMES, *NOTIFICATION_NAMES),
    )
)
_ARMED = os.environ.get("GPU_LEDGER_FAILPOINT", "")
PATIENCE_S = 300.0  # left by a test that was killed
_passed = 0  # number of times that the active one was reached


class FailpointError(RuntimeError):
    """Raised at a failpoint that is activated with `raise`."""


def reach(name: str) -> None:
    """Pass a failpoint.

    Raises:
        ValueError: no failpoint has this name.
        FailpointError: activated with `raise`.
    """
    global _passed  # noqa: PLW0603  # one process, one armed place
    if name not in KNOWN:
        raise ValueError(f"{name!r} is not a failpoint")
    armed, _, what = _ARMED.partition(":")
    if armed != name:
        return
    _passed += 1
    if what.startswith("sleep:"):
        time.sleep(float(what.removeprefix("sleep:")))
        return
    if what.startswith("until:"):
        _wait_for(Path(what.removeprefix("until:")))
        return
    if what != "raise":
        if _passed >= int(what.removeprefix("kill:") or 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return
    raise FailpointError(f"failpoint {name}")


def _wait_for(path: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not path.exists():
        if time.monotonic() > end:
            raise FailpointError(f"{path} did not appear within {PATIENCE_S:.0f} s")
        time.sleep(0.05)
