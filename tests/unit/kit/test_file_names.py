"""Names of downloaded files: what, whose, when; nothing that a file system or header refuses."""

import pytest

from accounting.kit.reads.file_names import LONGEST, file_name, period_part


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-11-01", "2026-11-23", "2026-11-01-to-2026-11-22"),
        ("2026-11-21", "2026-11-22", "2026-11-21"),
        ("2026-11-21T10:00:00Z", "2026-11-22T10:05:00Z",
         "from-2026-11-21T1000-to-2026-11-22T1005"),
        ("2026-11-21", "2026-11-22T10:05:00+01:00", "from-2026-11-21-to-2026-11-22T1005"),
        ("2026-11-01", None, "from-2026-11-01"),
        (None, "2026-11-01", "to-2026-11-01"),
        (None, None, ""),
    ],
)  # fmt: skip
def test_a_period_has_both_of_its_days(
    start: str | None, end: str | None, expected: str
) -> None:
    assert period_part(start, end) == expected


def test_empty_parts_and_odd_letters_are_left_out() -> None:
    name = file_name("csv", "usage", "", "by-team,day", '../a"b\r\nc', "2026-11-01")
    assert name == "gpu-ledger-usage-by-team-day-a-b-c-2026-11-01.csv"


def test_a_name_is_never_too_long() -> None:
    name = file_name("png", *["x" * 300] * 9)
    assert len(name) <= LONGEST + len(".png")
    assert name.endswith(".png")
