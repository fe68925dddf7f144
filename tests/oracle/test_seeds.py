"""A number is one fleet, and a fleet that is printed can be made again."""

from tests.oracle import plans, shapes
from tests.oracle.seeds import brief, fleet_of
from tests.oracle.themes import THEMES

NUMBERS = range(1, 2 * len(THEMES) + 1)
NAMES = vars(plans) | vars(shapes)


def test_a_brief_plan_makes_the_fleet_again() -> None:
    """What is left out is as it is by default: a no is printed where a yes is."""
    for number in NUMBERS:
        plan = fleet_of(number)
        assert eval(brief(plan), dict(NAMES)) == plan  # noqa: S307


def test_a_number_is_one_fleet() -> None:
    assert [fleet_of(n) for n in NUMBERS] == [fleet_of(n) for n in NUMBERS]
