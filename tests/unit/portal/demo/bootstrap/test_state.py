"""The demo goes on where it was, also after it was killed."""

import json
from pathlib import Path

import pytest

from portal.demo.bootstrap.state import Memory, MemoryFault
from portal.demo.scenario.story import DAY_S, Story
from portal.embedded.paths import places_of
from tests.unit.portal.demo.conftest import NOW_S

STORY = Story.ending_at(NOW_S, seed=7, days=7, gpus=24)


def test_there_is_none_before_the_first_start(tmp_path: Path) -> None:
    assert Memory.load(tmp_path) is None


def test_what_is_missing_survives_a_kill(tmp_path: Path) -> None:
    memory = Memory.first(tmp_path, STORY)
    memory.reach(NOW_S)
    assert len(memory.missing) == 8
    memory.done(memory.missing[0])
    again = Memory.load(tmp_path)
    assert again is not None
    assert again.story == STORY
    assert again.missing == memory.missing
    assert again.missing[0].last_s < NOW_S


def test_the_time_between_two_starts_is_missing_first(tmp_path: Path) -> None:
    memory = Memory.first(tmp_path, STORY)
    memory.reach(NOW_S)
    memory.done(memory.missing[0])
    older = list(memory.missing)
    memory.seen_live(NOW_S + 600)
    memory.reach(NOW_S + 2 * DAY_S)
    new = memory.missing[: -len(older)]
    assert memory.missing[-len(older) :] == older
    assert new[0].last_s == NOW_S + 2 * DAY_S
    assert new[-1].start_s == NOW_S + 600


def test_a_clock_that_steps_back_adds_nothing(tmp_path: Path) -> None:
    memory = Memory.first(tmp_path, STORY)
    memory.reach(NOW_S)
    before = list(memory.missing)
    memory.reach(NOW_S - 3600)
    assert memory.missing == before


def test_a_demo_whose_length_was_stored_in_weeks_goes_on(tmp_path: Path) -> None:
    memory = Memory.first(tmp_path, STORY)
    memory.reach(NOW_S)
    stored = json.loads(memory.path.read_text())
    assert stored["story"].pop("days") == 7
    stored["story"]["weeks"] = 1
    memory.path.write_text(json.dumps(stored))
    again = Memory.load(tmp_path)
    assert again is not None
    assert again.story == STORY
    assert again.missing == memory.missing


@pytest.mark.parametrize("text", ["", "{", "[]", '{"story": {}}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    places_of(tmp_path).demo.write_text(text)
    with pytest.raises(MemoryFault, match=r"demo\.json is damaged"):
        Memory.load(tmp_path)
