"""Which commands need a database or skip checks, how they begin, and the printed version."""

import gc
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from portal.commands import OURS, needs_database, run, without_checks
from portal.version import read_version


@pytest.mark.parametrize(
    ("line", "is_needed"),
    [
        ("report usage --by team", True),
        ("migrate", True),
        ("configure a.yaml --check", True),
        ("check", False),
        ("collectstatic --no-input", False),
        ("report --help", False),
        ("help", False),
        ("--version", False),
        ("", False),
    ],
)
def test_only_commands_that_read_or_write_need_a_database(
    line: str, *, is_needed: bool
) -> None:
    assert needs_database(["manage.py", *line.split()]) is is_needed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("report usage --by team", "report --skip-checks usage --by team"),
        ("change_set apply -", "change_set --skip-checks apply -"),
        ("demo", "demo --skip-checks"),
        ("check", "check"),
        ("migrate --no-input", "migrate --no-input"),
        ("collectstatic", "collectstatic"),
        ("--version", "--version"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_only_our_own_commands_skip_the_checks(line: str, expected: str) -> None:
    words = ["manage.py", *line.split()]
    assert without_checks(words) == ["manage.py", *expected.split()]


@pytest.mark.timeout(60)  # imports every command
def test_each_of_our_commands_can_skip_them() -> None:
    ours = {name: app for name, app in get_commands().items() if app in OURS}
    assert len(ours) > 15
    for name, app in ours.items():
        assert load_command_class(app, name).requires_system_checks == "__all__", name


def test_a_command_runs_with_the_collector_of_garbage() -> None:
    gc.disable()
    try:
        assert run(["manage.py", "version"]) == 0
        assert gc.isenabled()
    finally:
        gc.enable()


def test_version_is_the_top_heading(tmp_path: Path) -> None:
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changelog\n\nNewest first.\n\n## 1.2.3\n\n## 1.2.2\n")
    assert read_version(path) == "1.2.3"


def test_changelog_without_a_version_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changelog\n")
    with pytest.raises(ValueError, match="no heading"):
        read_version(path)


def test_a_published_trace_is_replayed_without_a_database(tmp_path: Path) -> None:
    """As published: 310 nodes have no GPU, and files of whole GPUs have no `gpu_spec`."""
    (tmp_path / "nodes.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,8,T4\nb,64000,262144,0,\n"
    )
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,88,16,1,1000\nq,88,16,2,1000\n"
    )
    file = tmp_path / "trace.yaml"
    file.write_text("trace:\n  nodes: nodes.csv\n  pods: pods.csv\n  policies: [FGD]\n")
    assert not needs_database(["manage.py", "simulate", str(file), "--format", "csv"])
    out = StringIO()
    call_command("simulate", str(file), "--format", "csv", stdout=out)
    assert out.getvalue().splitlines()[1].startswith("FGD,50,50.00,")
    file.write_text("cluster: north\nscenarios: [{name: more}]\n")
    assert needs_database(["manage.py", "simulate", str(file)])
    assert needs_database(["manage.py", "simulate", str(tmp_path / "missing.yaml")])
