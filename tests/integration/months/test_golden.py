"""The golden cases of the money rules, byte for byte (docs/money.md).

Two independent implementations agreed on them. Usage is written into the rollup by day, at the
prices that the rule over values finds.
"""

import json
from datetime import UTC, datetime

import pytest

from accounting.metering.tasks.facts import partitions
from tests.integration.months.answer import answer
from tests.shared_data import DATA, missing

CASES = DATA / "money"
NAMES = (
    "03-methods",
    "04-matching",
    "05-spread",
    "06-statements",
    "07-currencies",
    "08-corrections",
    "09-reopen",
    "10-new-zone",
)
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not CASES.exists(), reason=missing("money")),
]


@pytest.fixture(autouse=True)
def year() -> None:
    """Partitions of the days that the cases use."""
    partitions.ensure(
        [partitions.DAYS],
        datetime(2026, 9, 1, tzinfo=UTC),
        datetime(2027, 3, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_case_has_its_whole_answer(name: str) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    steps = zip(case["input"]["steps"], case["expected"]["steps"], strict=True)
    for step, expected in steps:
        found = answer(step)
        assert found == expected
