"""The programs that some tests need, and why a test cannot run without one.

`make provision` installs them all; `CONTRIBUTING.md` says what it does.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

CACHE = Path(
    os.environ.get("GPU_LEDGER_CACHE") or Path.home() / ".cache" / "gpu-ledger"
)
CONTROL_PLANE = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "kubectl",
)
# The first has no windows, and takes less processor time.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


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


def control_plane_program(name: str) -> Path | None:
    """Of `KUBEBUILDER_ASSETS`, as Kubernetes' own tests have it, or of `make provision`."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    places = [Path(assets)] if assets else []
    places.append(CACHE / "control-plane")
    return next((p for place in places if (p := place / name).exists()), None)


def s3_server() -> Path | None:
    """An S3 server over a folder, built by `make provision`."""
    path = CACHE / "s3" / "versitygw"
    return path if path.exists() else None


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


def _lacks_s3_server() -> str | None:
    if find_spec("boto3") is None:
        return "not installed: boto3 (make setup)"
    return None if s3_server() else "not installed: versitygw (make provision)"


def _lacks_chromium() -> str | None:
    return None if chromium() else "not installed: Chromium (make provision)"


def _lacks_api_server() -> str | None:
    return _lacks_control_plane(CONTROL_PLANE[:2])


def _lacks_control_plane(wanted: tuple[str, ...] = CONTROL_PLANE) -> str | None:
    missing = [name for name in wanted if control_plane_program(name) is None]
    missing += [] if _found("openssl") else ["openssl"]  # for a key of its own
    return f"not installed: {', '.join(missing)} (make provision)" if missing else None


def _lacks_root() -> str | None:
    return None if os.geteuid() == 0 else "needs the rights of root"


# Marks of tests that not every machine can run, and the reason why this one cannot.
REQUIREMENTS: Mapping[str, Callable[[], str | None]] = {
    "prometheus": _lacks_prometheus,
    "s3": _lacks_s3_server,
    "browser": _lacks_chromium,
    "api_server": _lacks_api_server,
    "control_plane": _lacks_control_plane,
    "root": _lacks_root,
}


def obstacle(marks: set[str]) -> str | None:
    """Why a test with these marks cannot run here; None when it can."""
    for mark, reason in REQUIREMENTS.items():
        if mark in marks and (why := reason()):
            return f"{mark}: {why}"
    return None
