"""The reference of the money rules answers every golden case, byte for byte.

It shares no code with the product, so that random ledgers can be compared with it.
"""

import json

import pytest

from tests.oracle.money.answers import answer
from tests.shared_data import DATA, missing

CASES = DATA / "money"
NAMES = (
    "01-largest-remainder",
    "02-half-even",
    "03-methods",
    "04-matching",
    "05-spread",
    "06-statements",
    "07-currencies",
    "08-corrections",
    "09-reopen",
    "10-new-zone",
    "11-forecast",
    "12-anomaly",
)


@pytest.mark.skipif(not CASES.exists(), reason=missing("money"))
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_answers_a_golden_case(name: str) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    assert answer(case["input"]) == case["expected"]
