"""`docs/operations.md`, *Connecting a cluster*: its commands and its setup, on a control plane."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from accounting.kit.commands.output import FINDING
from scheduler_view.clusters.models import Observation
from tests import programs
from tests.control_plane.rbac import apply_manifests
from tests.control_plane.server import ControlPlane
from tests.integration.commands.conftest import run

pytestmark = [
    pytest.mark.control_plane,
    pytest.mark.django_db(transaction=True),
]
ROOT = Path(__file__).resolve().parents[4]


def section() -> str:
    text = (ROOT / "docs" / "operations.md").read_text()
    return text.split("## Connecting a cluster\n")[1].split("\n## ")[0]


def commands() -> list[tuple[str, str]]:
    """Each command of the section, and what it prints."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", section(), re.DOTALL):
        for part in block.removeprefix("$ ").split("\n$ "):
            command, _, said = part.partition("\n")
            found.append((command, said.strip()))
    return found


def test_a_new_cluster_is_connected_by_the_document_alone(
    whole_cluster: ControlPlane, tmp_path: Path
) -> None:
    apply_manifests(whole_cluster)
    program = programs.control_plane_program("kubectl")
    assert program is not None
    env = {
        "PATH": f"{Path(program).parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(whole_cluster.kubeconfig()),
        "HOME": str(tmp_path),
    }
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    ran = commands()
    assert len(ran) == 8
    for command, said in ran:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not done.stderr or said == "no", (command, done.stderr)
        if said:
            assert done.stdout.strip() == said, command
    ca_file = (tmp_path / "ca.crt").read_text()
    assert ca_file == whole_cluster.ca_file.read_text()

    [setup] = re.findall(r"```yaml\n(.*?)```", section(), re.DOTALL)
    setup = setup.replace("https://10.0.0.1:6443", whole_cluster.url)
    path = tmp_path / "setup.yaml"
    path.write_text(setup.replace("/run/secrets", str(tmp_path)))
    assert list(yaml.safe_load(setup)["clusters"][0]["kubernetes"]) == [
        "reader",
        "pusher",
    ]
    assert run("configure", str(path)).code == 0
    seen = run("observe", "--cluster", "north")
    assert not seen.err
    assert seen.code in (0, FINDING)  # other tests may have left objects that differ
    assert re.search(r"^north: [1-9]\d* objects read$", seen.out, re.MULTILINE)
    assert Observation.objects.filter(cluster__name="north").exists()
