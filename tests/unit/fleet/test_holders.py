"""Stretches of pods as stretches of teams, and which teams keep their colour."""

from datetime import UTC, datetime, timedelta

from accounting.access.reads.teams import TeamRef
from accounting.fleet.pages.holders import by_team, few, named_teams
from accounting.fleet.reads.timeline import HeldStretch
from accounting.kit.charts.plots import NAMED_SERIES

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
WINDOW = timedelta(minutes=5)
TEAMS = {f"t{n}": TeamRef(n, f"t{n}", f"Team {n}", "", n) for n in range(1, 20)}


def held(team: str, pod: str, first: int, after: int, gpu: str = "G") -> HeldStretch:
    ms = (after - first) * 300_000
    span = START + first * WINDOW, START + after * WINDOW
    return HeldStretch(
        *(ms // 2, ms // 2, 0, "c", "n", gpu, -1, team, "ns", pod, pod, *span, False)
    )


def test_pods_of_one_team_that_touch_are_one_stretch() -> None:
    found = by_team(
        [held("t1", "b", 2, 4), held("t1", "a", 0, 2), held("t1", "c", 6, 7)], TEAMS
    )
    assert [(s.start, s.end, s.pods) for s in found] == [
        (START, START + 4 * WINDOW, ("a", "b")),
        (START + 6 * WINDOW, START + 7 * WINDOW, ("c",)),
    ]
    assert found[0].times.allocated_ms == 4 * 300_000
    assert found[0].times.efficiency == 0.5


def test_teams_and_gpus_stay_apart() -> None:
    found = by_team(
        [held("t1", "a", 0, 2), held("t2", "b", 1, 3), held("t1", "a", 0, 2, "H")],
        TEAMS,
    )
    assert [(s.gpu, s.team.slug) for s in found] == [
        ("G", "t1"),
        ("H", "t1"),
        ("G", "t2"),
    ]


def test_the_largest_keep_their_colour_and_the_rest_is_grey() -> None:
    many = by_team([held(f"t{n}", "p", 0, n, f"G{n}") for n in range(1, 13)], TEAMS)
    kept, legend = named_teams(many)
    assert kept == {f"t{n}" for n in range(6, 13)}
    assert len(kept) == NAMED_SERIES
    assert (legend[-1].name, legend[-1].slot) == ("Other (5)", 0)
    unmapped = by_team(
        [held("unmapped", "x", 0, 99)]
        + [held(f"t{n}", "p", 0, n, f"G{n}") for n in range(1, 13)],
        TEAMS,
    )
    kept, legend = named_teams(unmapped)
    assert "unmapped" not in kept  # as grey as the others
    assert legend[-1].name == "Other (6)"


def test_a_few_names_stand_for_many() -> None:
    assert few(("a",)) == "a"
    assert few(tuple("abcdefg")) == "a, b, c and 4 more"
