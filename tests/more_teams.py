"""Teams of which a page shows only some: written into the story's database, with usage and a rule.

Their hours are those of one workload of the story on a day of October and one of November, each
team with a share of its own, so no two teams have the same charge.
"""

from datetime import date

from django.db import connection

from accounting.access.models.teams import Binding, Team
from accounting.core.ledger_line import STATES
from accounting.usage.tasks.rollup import roll_up_days
from tests.story import Story

DAYS = (date(2026, 10, 30), date(2026, 11, 19))
LIKE = "sweep-resnet"
DEPARTMENTS = ("Labs", "Field")


def add_teams(story: Story, count: int) -> list[Team]:
    """Write teams `lab-000` and so on; every second one belongs to another department."""
    teams = Team.objects.bulk_create(
        Team(
            slug=f"lab-{n:03d}",
            name=f"Lab {n:03d}",
            department=DEPARTMENTS[n % 2],
        )
        for n in range(count)
    )
    Binding.objects.bulk_create(
        Binding(
            kind="namespace",
            glob=f"{team.slug}-*",
            team=team,
            position=1000 + n,
            valid_from=story.since,
        )
        for n, team in enumerate(teams)
    )
    with connection.cursor() as cursor:
        table = connection.introspection.get_table_description(cursor, "usage_hour")
        names = [column.name for column in table if column.name != "team_id"]
        values = [
            f"u.{name} * (7 + t.id %% 1009) / 3000" if name in _TIMES else f"u.{name}"
            for name in names
        ]
        cursor.execute(
            f"""INSERT INTO usage_hour (team_id, {", ".join(names)})
                SELECT t.id, {", ".join(values)}
                FROM usage_hour u JOIN accounting_workload w ON w.id = u.workload_id,
                     accounting_team t
                WHERE w.name = %s AND u.billing_on = ANY(%s) AND t.id = ANY(%s)""",  # noqa: S608
            [LIKE, list(DAYS), [team.pk for team in teams]],
        )
    roll_up_days(story.cluster.pk, DAYS)
    return teams


_TIMES = {f"{state}_ms" for state in STATES}
