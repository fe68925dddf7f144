"""Families with many runs, beside the story."""

from django.db import connection

from accounting.metering.models.pod import Workload


def more_runs(families: int, runs: int) -> None:
    """Further families of Vision: each run has a copy of one row of `sweep-resnet`."""
    row = Workload.objects.get(name="sweep-resnet")
    made = Workload.objects.bulk_create(
        Workload(
            cluster=row.cluster,
            namespace=row.namespace,
            kind="Job",
            name=f"many{n}x-run-{k}",
            family=f"many{n}x-run",
        )
        for n in range(families)
        for k in range(runs)
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM usage_day LIMIT 0")
        names = [column.name for column in cursor.description]
        values = ["w.id" if name == "workload_id" else f"u.{name}" for name in names]
        cursor.execute(
            f"""INSERT INTO usage_day ({", ".join(names)})
                SELECT {", ".join(values)} FROM (
                    SELECT * FROM usage_day WHERE workload_id = %s
                    AND billing_on = '2026-11-13' LIMIT 1
                ) u, accounting_workload w WHERE w.id = ANY(%s)""",  # noqa: S608  # of columns
            [row.pk, [one.pk for one in made]],
        )
