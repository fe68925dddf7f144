"""A quota divided by what each namespace held: real holds, through the importer.

Covers `split: by_use` in the plan, its words with the team's name, and the objects.
"""

from pathlib import Path

from accounting.access.models.teams import Binding, Team
from scheduler_view.quotas.models import QuotaTarget
from tests.builders import Text, times
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.agreement import agree
from tests.integration.changes.office import Office, quota, said
from tests.integration.metering.support import run

DAY_S = 86_400


def import_holds(office: Office, folder: Path, spaces: dict[str, list[int]]) -> None:
    """Pods of yesterday, one after the other in each namespace, with so many GPUs each."""
    text = Text()
    start = int(office.now().timestamp()) // 300 * 300 - DAY_S
    scrapes = times(start, start + 3600)
    text.node("n1", 8, scrapes)
    for space, pods in spaces.items():
        for number, units in enumerate(pods):
            bound = start + 300 + 900 * number
            done = bound + 600
            text.pod(
                f"{space}-{number}",
                [t for t in scrapes if bound < t < done + 120],
                node="n1",
                bound=bound,
                namespace=space,
                units=units,
                completed=done,
            )
    for index in range(8):
        text.utilization(f"GPU-{index}", "n1", dict.fromkeys(scrapes, 0.0))
    path = text.write(folder / "yesterday.txt")
    run("import_metrics", "--cluster", office.cluster.name, path)


def second_namespace(office: Office) -> str:
    other = f"{office.world.name}-c"
    office.world.admin.make_namespace(other)
    own = Binding.objects.get(team__slug="vision")
    Binding.objects.create(
        kind=own.kind,
        glob=other,
        team=own.team,
        position=9,
        valid_from=own.valid_from,
    )
    return other


def test_a_quota_is_divided_by_the_most_that_each_held(
    both: Office, tmp_path: Path
) -> None:
    one, other = both.world.name, second_namespace(both)
    Team.objects.filter(slug="vision").update(name="Computer Vision")
    # six pods of one GPU after each other hold one at a time; the peak counts, not the sum
    import_holds(both, tmp_path, {one: [2, 3, 1], other: [1, 1, 1]})
    change_set = both.applied(quota(8, rule="by_use"))
    message = said(change_set)
    assert f"by peak use in 30 days ({one} 3, {other} 1)" in message
    assert "Computer Vision's quota is divided" in message
    assert "In the last 30 days Computer Vision held at most 4" in message
    assert "vision holds" not in message  # a slug is for programs
    assert (both.hard()[GPU_KEY], both.hard(other)[GPU_KEY]) == ("6", "2")
    assert QuotaTarget.objects.get().split == {one: 6, other: 2}
    agree(both)


def test_a_namespace_that_held_nothing_gets_nothing(
    both: Office, tmp_path: Path
) -> None:
    one, other = both.world.name, second_namespace(both)
    import_holds(both, tmp_path, {one: [2]})
    both.applied(quota(5, rule="by_use"))
    assert (both.hard()[GPU_KEY], both.hard(other)[GPU_KEY]) == ("5", "0")


def test_without_any_hold_the_division_is_even_and_says_so(both: Office) -> None:
    other = second_namespace(both)
    change_set = both.applied(quota(5, rule="by_use"))
    assert "evenly, because none of them held a GPU in 30 days" in said(change_set)
    assert (both.hard()[GPU_KEY], both.hard(other)[GPU_KEY]) == ("3", "2")
