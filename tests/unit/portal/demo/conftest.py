"""A whole demo, simulated once for all tests here; tests only read it."""

import pytest

from portal.demo.scenario.engine import Engine
from portal.demo.scenario.story import Story

NOW_S = 1_795_258_800  # 21 November 2026, 11:00 UTC


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The full-size demo at the moment of its first start."""
    story = Story.ending_at(NOW_S, seed=7, days=56, gpus=308)
    whole = Engine(story)
    whole.advance(NOW_S)
    return whole


@pytest.fixture(scope="session")
def small() -> Engine:
    """A small fleet with one week of history."""
    story = Story.ending_at(NOW_S, seed=3, days=7, gpus=24)
    few = Engine(story)
    few.advance(NOW_S)
    return few
