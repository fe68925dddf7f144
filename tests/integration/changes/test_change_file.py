"""A change file with faults: each is named with its line and key (`change_set FILE.yaml`)."""

from datetime import UTC, datetime

import pytest

from accounting.setup.tasks.yaml_lines import DocumentError
from scheduler_view.changes.actions.change_file import line_fault, read_change

pytestmark = pytest.mark.django_db
GOOD = """\
cluster: north
reason: Half of it is idle
quotas:
  - {team: vision, resource: nvidia.com/gpu, gpus: 8}
  - team: search
    resource: nvidia.com/gpu
    gpus: 4
ends_at: 2026-12-08
"""


def test_a_good_file_is_a_draft() -> None:
    found = read_change(GOOD, clusters=["north"], timezone="Europe/Berlin")
    assert found.cluster == "north"
    assert len(found.draft.edits) == 2
    assert found.draft.starts_at is None
    assert found.draft.ends_at == datetime(2026, 12, 7, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("cluster: north", "cluster: south", 1, "'south'; known: north"),
        ("reason: Half of it is idle", "reason: ''", 2, "reason: '' is empty"),
        ("reason: Half of it is idle\n", "", 1, "reason: missing"),
        ("gpus: 8", "gpus: 0.5", 4, "gpus: 0.5 is a fraction"),
        ("gpus: 4", "gpus: 0.5", 7, "gpus: 0.5 is a fraction"),
        ("gpus: 8", "kind: tier", 3, "quotas: 'kind' is not allowed here"),
        ("quotas:\n", "quotas:\n  - 8\n", 4, "quotas: must be a mapping"),
        ("ends_at: 2026-12-08", "ends_at: soon", 8, "'soon' is not a valid time"),
        ("ends_at", "force: all\nends_at", 8, "force: must be a list"),
        ("ends_at", "end_at", 8, "unknown key 'end_at'; use one of: cluster"),
    ],
)
def test_a_fault_is_named_with_its_line(
    old: str, new: str, line: int, words: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        read_change(GOOD.replace(old, new), clusters=["north"])
    found = [(fault.line, fault.message) for fault in caught.value.faults]
    assert any(at == line and words in message for at, message in found), found


def test_what_is_found_later_has_the_line_of_its_section() -> None:
    assert str(line_fault(GOOD, "ends_at", "ends_at: past")) == "line 8: ends_at: past"
    assert line_fault(GOOD, "starts_at", "x").line == 1
