"""The manifests of deploy/rbac on a control plane, and the tokens of its two service accounts."""

import subprocess
from pathlib import Path

from tests import programs
from tests.control_plane.admin import Admin, RefusedByServer, quota_path
from tests.control_plane.server import ADMIN, ControlPlane
from tests.processes import wait_until

MANIFESTS = Path(__file__).resolve().parents[2] / "deploy" / "rbac"


def kubectl(plane: ControlPlane, *arguments: str) -> str:
    """What it prints; it must succeed."""
    program = programs.control_plane_program("kubectl")
    assert program is not None
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig()}", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def apply_manifests(plane: ControlPlane) -> None:
    """Accounts, rights and policy; returns when the policy is in force."""
    kubectl(plane, "apply", "-f", str(MANIFESTS))
    admin = Admin(plane.url, ADMIN, str(plane.ca_file))
    pusher = Admin(plane.url, token_of(admin, "pusher"), admin.ca_file)
    foreign = {"metadata": {"name": "foreign"}, "spec": {"hard": {}}}

    def is_in_force() -> bool:
        try:
            pusher.create(quota_path("default"), foreign, dryRun="All")
        except RefusedByServer as refused:
            return "carry its label" in refused.message
        return False

    wait_until(is_in_force, 30)


def token_of(admin: Admin, role: str) -> str:
    """A new token of the service account of a role: `reader` or `pusher`."""
    path = f"/api/v1/namespaces/gpu-ledger/serviceaccounts/gpu-ledger-{role}/token"
    token: str = admin.create(path, {"spec": {}})["status"]["token"]
    return token
