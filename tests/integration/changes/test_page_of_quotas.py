"""The example of docs/quotas.md: its file, its commands, their ends, its words and its object."""

import io
import re
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

from tests.integration.changes.office import Office, quota, tier

PAGE = (Path(__file__).parents[3] / "docs" / "quotas.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(
    r"^\| `manage.py (change_set \w+) FILE.yaml` \| [^|]* \| (\d) \|",
    PAGE,
    re.MULTILINE,
)


def run(command: str, path: Path) -> tuple[int, str]:
    """How a command ends, and what it prints."""
    out = io.StringIO()
    name, verb = command.split()
    try:
        call_command(name, verb, str(path), stdout=out, stderr=out)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_the_example_is_planned_applied_and_undone(
    both: Office, tmp_path: Path
) -> None:
    path = tmp_path / "change.yaml"
    path.write_text(BLOCKS[0].replace("CLUSTER", both.cluster.name))
    assert [command for command, _ in COMMANDS] == [
        *("change_set plan", "change_set apply") * 2,
        "change_set undo",
    ]
    effects = re.findall(
        r"^- (.*)$", PAGE.split("<!-- effects -->")[1].split("<!--")[0], re.MULTILINE
    )
    assert len(effects) == 3
    version = ""
    for number, (command, code) in enumerate(COMMANDS):
        ended, said = run(command, path)
        assert ended == int(code), said
        if number == 0:
            for line in effects:
                assert line.replace("NAMESPACE", both.world.name) in said
            assert not both.has_quota()
        elif number == 1:
            assert both.hard() == yaml.safe_load(BLOCKS[1])
            version = both.version_of()
        elif number < 4:
            assert both.version_of() == version
    assert not both.has_quota()


def test_a_file_joins_an_open_change_set(both: Office, tmp_path: Path) -> None:
    path = tmp_path / "change.yaml"
    path.write_text(BLOCKS[0].replace("CLUSTER", both.cluster.name))
    first = both.planned(quota(3), tier("batch", 1000))
    said = join(path, f"CS-{first.pk}")
    assert said[0] == 0, said
    assert "replaces the edit of vision nvidia.com/gpu" in said[1]
    assert f"CS-{first.pk} has 3 edits" in said[1]
    assert f"{both.world.name}/gpu-ledger" in said[1]
    first.refresh_from_db()
    assert first.state == "planned"
    assert not both.has_quota()  # nothing is sent
    both.apply(both.approve(first))
    assert both.hard() == yaml.safe_load(BLOCKS[1])
    code, message = join(path, str(first.pk))
    assert (code, "is applied" in message) == (1, True)
    assert join(path, "999999")[0] == 1
    with pytest.raises(CommandError, match="--to"):
        join(path, "CS-none")
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("change_set", "join", str(path), stdout=out, stderr=out)
    assert (ended.value.code, "--to CS-N" in out.getvalue()) == (2, True)


def join(path: Path, number: str) -> tuple[int, str]:
    """How joining ends, and what it says."""
    out = io.StringIO()
    try:
        call_command(
            "change_set", "join", str(path), f"--to={number}", stdout=out, stderr=out
        )
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()
