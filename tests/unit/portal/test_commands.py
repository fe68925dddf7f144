"""Which commands need a database, and the version that they print."""

from pathlib import Path

import pytest

from portal.commands import needs_database
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


def test_version_is_the_top_heading(tmp_path: Path) -> None:
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changelog\n\nNewest first.\n\n## 1.2.3\n\n## 1.2.2\n")
    assert read_version(path) == "1.2.3"


def test_changelog_without_a_version_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changelog\n")
    with pytest.raises(ValueError, match="no heading"):
        read_version(path)
