"""Lines of workloads: what they share is made once."""

import cProfile
import pstats

from accounting.access.reads.teams import TeamRef
from accounting.core.money import NOTHING
from accounting.core.unmapped import UNMAPPED
from accounting.usage.pages.tables import workload_lines
from accounting.usage.rules.rows import UsageRow

TEAMS = {
    slug: TeamRef(number, slug, slug.title(), "", number)
    for number, slug in enumerate(("vision", "speech"), start=1)
}


def row(team: str, workload: str) -> UsageRow:
    key = {"team": team, "namespace": "lab", "workload": workload}
    return UsageRow(1, 2, 3, key, NOTHING, NOTHING, estimated=False)


def test_the_address_of_a_team_is_made_once_for_all_its_workloads() -> None:
    """A team has a thousand workloads, and a page shows fifty."""
    teams = (*TEAMS, UNMAPPED)
    rows = [row(team, f"train-{n}") for n in range(100) for team in teams]
    with cProfile.Profile() as profile:
        lines = workload_lines(rows, TEAMS)
    assert [line.row for line in lines] == rows
    assert {(line.team, line.url) for line in lines} == {
        ("Vision", "/teams/vision"),
        ("Speech", "/teams/speech"),
        ("Unmapped", ""),
    }
    calls = pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]  # has it
    assert [call[1] for (_, _, name), call in calls if name == "reverse"] == [2]
