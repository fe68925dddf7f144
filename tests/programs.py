"""The programs that some tests need, and why a test cannot run without one.

`make provision` installs them all; `CONTRIBUTING.md` says what it does.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

CACHE = Path(
    os.environ.get("GPU_LEDGER_CACHE") or Path.home() / ".cache" / "gpu-ledger"
)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def prometheus2() -> Path | None:
    """Debian's Prometheus 2."""
    return _found("prometheus")


def prometheus3() -> Path | None:
    """Prometheus 3, built by `make provision`."""
    path = CACHE / "prom3" / "prometheus"
    return path if path.exists() else None


def promtool() -> Path | None:
    """Makes history from OpenMetrics text; of either version."""
    path = CACHE / "prom3" / "promtool"
    return path if path.exists() else _found("promtool")


def chromium() -> Path | None:
    """A browser of the distribution."""
    return next(filter(None, map(_found, CHROMIUM)), None)


def _found(name: str) -> Path | None:
    path = shutil.which(name)
    return Path(path) if path else None


def _lacks_prometheus() -> str | None:
    wanted = {
        "Prometheus 2": prometheus2(),
        "Prometheus 3": prometheus3(),
        "promtool": promtool(),
    }
    missing = [name for name, path in wanted.items() if path is None]
    return f"not installed: {', '.join(missing)} (make provision)" if missing else None


def _lacks_chromium() -> str | None:
    return None if chromium() else "not installed: Chromium (make provision)"


def _lacks_root() -> str | None:
    return None if os.geteuid() == 0 else "needs the rights of root"


# Marks of tests that not every machine can run, and the reason why this one cannot.
REQUIREMENTS: Mapping[str, Callable[[], str | None]] = {
    "prometheus": _lacks_prometheus,
    "browser": _lacks_chromium,
    "root": _lacks_root,
}


def obstacle(marks: set[str]) -> str | None:
    """Why a test with these marks cannot run here; None when it can."""
    for mark, reason in REQUIREMENTS.items():
        if mark in marks and (why := reason()):
            return f"{mark}: {why}"
    return None
