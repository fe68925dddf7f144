"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler.

Fake kubelets (KWOK) make nodes ready and pods run. Tests that use it carry the mark
`api_server` (etcd and API server) or `control_plane` (all of it); `tests/programs.py` says
what they need. All processes end with the one that started them.
"""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import requests

from portal.embedded.launch import last_lines, start, tethered
from tests import programs
from tests.control_plane.admin import disconnect
from tests.processes import wait_until

READY_S, STOP_S = 60.0, 20.0
ADMIN = "admin-token"
NO_KUBELET = "tests.example/no-kubelet"
"""The label of a node that no fake kubelet manages: a test reports what its kubelet would."""
USERS = f"{ADMIN},admin,1,system:masters\nstranger-token,stranger,2,\n"


class ControlPlane:
    """One control plane over one etcd; parts of it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.etcd_port, self.peer_port, self.port = _free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.ca_file = folder / "certificates" / "apiserver.crt"
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def kubeconfig(self, token: str = ADMIN, url: str = "") -> Path:
        """A file for kubectl and our door, as the user of a token."""
        path = self.folder / f"kubeconfig-{abs(hash((token, url)))}"
        cluster = {
            "server": url or self.url,
            "certificate-authority": str(self.ca_file),
        }
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "test",
                    "clusters": [{"name": "test", "cluster": cluster}],
                    "users": [{"name": "test", "user": {"token": token}}],
                    "contexts": [
                        {"name": "test", "context": {"cluster": "test", "user": "test"}}
                    ],
                }
            )
        )
        path.chmod(0o600)
        return path

    def start_store(self) -> None:
        """etcd; it may forget what it was told, so it does not wait for the disk."""
        self._start(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{self.etcd_port}",
            f"--advertise-client-urls=http://127.0.0.1:{self.etcd_port}",
            f"--listen-peer-urls=http://127.0.0.1:{self.peer_port}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{self.peer_port}",
            f"--initial-cluster=default=http://127.0.0.1:{self.peer_port}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )

    def start_api_server(self) -> None:
        """The API server; returns when it answers."""
        self._start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--token-auth-file={self.folder / 'users.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://test",
            f"--service-account-key-file={self.folder / 'key.pem'}",
            f"--service-account-signing-key-file={self.folder / 'key.pem'}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--disable-admission-plugins=ServiceAccount",
            "--watch-cache=true",
        )
        wait_until(self.is_ready, READY_S)

    def start_controllers(self) -> None:
        """Controller manager, scheduler and fake kubelets."""
        config = self.kubeconfig()
        self._start(
            "kube-controller-manager",
            f"--kubeconfig={config}",
            "--controllers=*,-nodeipam,-cloud-node-lifecycle",
            "--node-monitor-grace-period=10m",
            "--leader-elect=false",
            f"--service-account-private-key-file={self.folder / 'key.pem'}",
            f"--secure-port={_free_ports(1)[0]}",
            "--bind-address=127.0.0.1",
        )
        self._start(
            "kube-scheduler",
            f"--kubeconfig={config}",
            "--leader-elect=false",
            f"--secure-port={_free_ports(1)[0]}",
            "--bind-address=127.0.0.1",
        )
        self._start(
            "kwok",
            f"--kubeconfig={config}",
            f"--manage-nodes-with-label-selector=!{NO_KUBELET}",
            f"--server-address=127.0.0.1:{_free_ports(1)[0]}",
        )

    def is_ready(self) -> bool:
        """True when the API server answers and its first objects are there."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise AssertionError(f"{name} ended: {last_lines(self._log(name), 15)}")
        if not self.ca_file.exists():
            return False
        try:
            answer = requests.get(
                f"{self.url}/readyz",
                headers={"Authorization": f"Bearer {ADMIN}"},
                verify=str(self.ca_file),
                timeout=2,
            )
        except requests.RequestException:
            return False
        return answer.status_code == 200

    def kill(self, name: str) -> None:
        """As a power cut does it."""
        process = self.running.pop(name)
        process.kill()
        process.wait(STOP_S)

    def freeze(self, name: str) -> None:
        """The process stands still and keeps its connections: a hang."""
        self.running[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """It goes on where it was."""
        self.running[name].send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End all, the store last; nothing is kept, so nothing is asked politely."""
        disconnect(self.url)
        for name in reversed(list(self.running)):
            self.kill(name)

    def _start(self, name: str, *options: str) -> None:
        program = programs.control_plane_program(name)
        assert program is not None, f"{name} is not installed"
        self.running[name] = start(
            tethered([str(program), *options], last_signal=signal.SIGKILL),
            log=self._log(name),
            directory=self.folder,
        )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


@contextmanager
def control_plane(folder: Path, *, is_whole: bool = True) -> Iterator[ControlPlane]:
    """A control plane over a fresh etcd, for as long as a test needs it.

    Args:
        folder: an empty folder for everything that it writes.
        is_whole: with controllers, scheduler and fake kubelets.
    """
    (folder / "users.csv").write_text(USERS)
    (folder / "key.pem").write_bytes(_private_key())
    plane = ControlPlane(folder)
    try:
        plane.start_store()
        plane.start_api_server()
        if is_whole:
            plane.start_controllers()
        yield plane
    finally:
        plane.stop()


def _private_key() -> bytes:
    made = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        capture_output=True,
        check=True,
        timeout=READY_S,
    )
    return made.stdout


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has now; all are held until the last is found."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


wait = partial(wait_until, seconds=READY_S)
