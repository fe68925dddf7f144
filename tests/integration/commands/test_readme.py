"""The commands of the README and the set-up of docs/operations.md, as they stand there.

Each line is run in the root of the checkout, as a person would. Not here: `make demo` and
`make test` (tests/e2e, .ci/run), the bare machine (tests/integration/portal/
test_commands.py), the examples of docs/metering.md and docs/shapes.md
(tests/integration).
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from accounting.setup.tasks.schema import read_configuration
from portal.demo.kube_api.server import serving
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from tests.control_plane.admin import Admin
from tests.control_plane.server import ADMIN
from tests.integration.commands.conftest import Ended, run

ROOT = Path(__file__).resolve().parents[3]
FINDING = 1  # of `change_set plan`: something would change


def _block(page: str, after: str, language: str = "") -> str:
    text = f"\n{(ROOT / page).read_text()}".partition(f"\n{after}\n")[2]
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no {language} block after {after!r}"
    return found[1]


def _typed(line: str) -> Ended:
    python, manage, *words = shlex.split(line, comments=True)
    assert (python, manage) == ("python", "manage.py")
    return run(*words)


@pytest.fixture
def access(tmp_path: Path) -> Iterator[str]:
    """The block of docs/operations.md, with the address and files of the demo's API."""
    users = {
        "reads": User("gpu-ledger-reader"),
        "pushes": User("gpu-ledger-pusher", is_pusher=True),
        ADMIN: User("admin", is_admin=True),
    }
    (tmp_path / "reader.token").write_text("reads")
    (tmp_path / "pusher.token").write_text("pushes")
    with serving(Store(), users) as api:
        Admin(api.url, ADMIN, "").make_namespace("vision")
        block = _block("docs/operations.md", "## Connecting a cluster", "yaml")
        block = block.replace("https://10.0.0.1:6443", api.url)
        block = block.replace(", ca_file: /run/secrets/ca.crt", "")  # no TLS there
        yield block.replace("/run/secrets", str(tmp_path))


@pytest.mark.django_db(transaction=True)
def test_commands_of_the_readme_do_what_they_say(
    transactional_db: None,
    access: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del transactional_db
    monkeypatch.chdir(ROOT)
    lines = _block("README.md", "## Use it").splitlines()
    configure, imported, reported, planned = lines
    ended = _typed(configure)
    assert ended.code == 0, ended.err
    assert "changed: team vision" in ended.out

    ended = _typed(imported)
    assert ended.code == 0, ended.err
    assert "83.3% covered" in ended.out

    ended = _typed(reported)
    assert ended.code == 0, ended.err
    row = next(line for line in ended.out.splitlines() if "vision" in line)
    assert "NVIDIA-A100-SXM4-80GB" in row
    assert "0.105" in row  # the charge of docs/metering.md

    ended = _typed(planned)
    assert (ended.code, ended.out) == (FINDING, "")
    assert (
        "the API of the cluster is not accessible" in ended.err
    )  # what the README says of it
    (tmp_path / "access.yaml").write_text(access)
    ended = _typed(f"python manage.py configure {tmp_path}/access.yaml")
    assert ended.code == 0, ended.err
    ended = _typed(planned)
    assert ended.code == FINDING, ended.err
    assert "ResourceQuota vision/gpu-ledger" in ended.out
    assert "requests.nvidia.com/gpu: - -> 8" in ended.out


@pytest.mark.django_db(transaction=True)
def test_commands_of_the_operations_page_end_well(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del transactional_db
    monkeypatch.chdir(ROOT)
    configure, imported, *_ = _block("README.md", "## Use it").splitlines()
    _typed(configure)
    _typed(imported)
    block = _block("docs/operations.md", "## Manual computation", "console")
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    said = [_typed(line) for line in lines]
    assert [ended.code for ended in said] == [0] * len(lines), said
    due, again, twice, reported, verified = (ended.out for ended in said)
    assert "none are due" in due
    assert "north: 2 windows, " in again
    assert "(0 new), 0 windows" in twice
    assert [row["team"] for row in json.loads(reported)["rows"]] == ["vision"]
    assert "FAIL" not in verified


def test_dump_of_the_readme_is_the_worked_example() -> None:
    """One example, in two places: `docs/metering.md` explains what comes out of it."""
    worked = _block("docs/metering.md", "## Worked example", "openmetrics")
    assert (ROOT / "docs/example/dump.om").read_text() == worked


@pytest.mark.parametrize(
    ("page", "after"),
    [
        ("docs/operations.md", "## Connecting a cluster"),
        ("docs/data-health.md", "# Data health"),
        ("docs/metering.md", "The setup file with the price:"),
    ],
)
def test_set_up_of_a_page_is_one(page: str, after: str) -> None:
    block = _block(page, after, "yaml")
    read_configuration(block)
    assert yaml.safe_load(block)
