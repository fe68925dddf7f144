"""More rows than a page shows, in every list: written into the story's database.

For tests of pages and links only: rows are copied and made up, and their sums mean nothing.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from accounting.access.models.people import Membership, Person
from accounting.access.models.teams import Team
from accounting.budgets.actions.budgets import SetBudget, create_budget
from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval, to_ms
from accounting.explore.models import SavedView
from accounting.exports.models import ExportJob
from accounting.kit.audit import act
from accounting.metering.models.cluster import Gpu, GpuPresence, Node, NodeFact
from accounting.metering.models.pod import Pod, PodAttribution, PodHold, Workload
from accounting.metering.tasks.facts import partitions
from accounting.months.actions.contests import open_contest
from accounting.months.models.contest import Contest, ContestStep
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.notifications.actions import enqueue
from accounting.notifications.models import NotificationKind
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import PriceList, UnitPrice
from accounting.usage.tasks.gpu_rollup import roll_up_by_gpu
from accounting.usage.tasks.rollup import roll_up_days, roll_up_hours
from scheduler_view.alerts.models import Alert
from scheduler_view.alerts.rules.catalogue import AlertRule
from scheduler_view.alerts.tasks import look
from scheduler_view.changes.models import ChangeSet, ChangeStep
from scheduler_view.changes.rules.edit import QuotaEdit, edit_fields
from scheduler_view.clusters.models import Observation
from scheduler_view.idle.tasks import find_idle
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.savings.models import WasteFinding
from scheduler_view.what_if.models import WhatIfRun
from tests.browser.bills import import_two
from tests.browser.waits.stored_waits import store_waits
from tests.more_runs import more_runs
from tests.more_teams import add_teams
from tests.story import FOREVER, PASSWORD, Story

MANY = 51  # a page has 50
MODEL = "NVIDIA-A100-SXM4-80GB"
WIDE = "wide-train"  # a run with more GPUs than a page has
LEAD = "lena"  # leads every team
LONG_CHANGE = 4812  # the number of a change set with many objects
OPENED = datetime(2026, 11, 2, 9, tzinfo=UTC)


def fill(story: Story, rows: int = MANY) -> None:
    """Give every list that has pages a second one, for each role that may open it."""
    more = add_teams(story, rows)
    lead = _lead()
    _held(story, rows)
    more_runs(1, rows)
    _people(rows)
    _messages(rows)
    _views(rows)
    for period, book in (("2026-10", close_period), ("2026-11", book_running)):
        book(period)
    _findings(story)
    _prices(rows)
    _limits(story, rows)
    import_two(story)
    store_waits(story)
    amount = Decimal(14_000)
    for team in (story.teams["vision"], *more):
        create_budget(SetBudget(team=team, amount=amount, reason="Agreed."), lead)
    open_contest(story.teams["vision"], "2026-10", "gpu-02 was down.", lead)
    _contests(story, lead, rows)
    _jobs(story, lead, rows)
    _changes(story, lead, rows)
    with (
        connection.cursor() as cursor
    ):  # the audit log is written at the end of a transaction
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def _messages(rows: int) -> None:
    """Messages to people without an account."""
    for number in range(rows):
        to = f"p{number}@example.org"
        enqueue(to, NotificationKind.ALERT, "A GPU is hot", "91 °C", key=to)


def _views(rows: int) -> None:
    """Views of Explore that everybody sees."""
    owner = get_user_model().objects.get(username="ana")
    SavedView.objects.bulk_create(
        SavedView(name=f"View {n}", audience="all", owner=owner) for n in range(rows)
    )


def _lead() -> User:
    user = get_user_model().objects.create_user(LEAD, password=PASSWORD)
    Person.objects.create(user=user, role="none")
    for team in Team.objects.all():
        Membership.objects.create(user=user, team=team, role="lead")
    return user


def _people(rows: int) -> None:
    """Further accounts, without a role or a team."""
    users = get_user_model().objects
    users.bulk_create(get_user_model()(username=f"zoe-{n:02d}") for n in range(rows))


def _held(story: Story, rows: int) -> None:
    """Vision gets many workloads with a GPU each, and one with many, for the last hours."""
    since = story.until.replace(minute=0) - timedelta(hours=2)
    node = Node.objects.create(cluster=story.cluster, name="gpu-90")
    NodeFact.objects.create(node=node, valid_from=story.since, model=MODEL)
    wide = _pod(story, WIDE, node, since, rows)
    facts = []
    for n in range(rows):
        pod = _pod(story, f"trial-{_word(n)}", node, since, 1)
        for number, holder in ((77_00 + n, pod), (78_00 + n, wide)):
            gpu = Gpu.objects.create(
                cluster=story.cluster, uuid=f"GPU-{number}-0000-7c3d", model=MODEL
            )
            GpuPresence.objects.create(gpu=gpu, node=node, start_ms=to_ms(since))
            facts.append((gpu.pk, holder.pk, node.pk))
    _windows(story, since, facts)


def _pod(story: Story, name: str, node: Node, since: datetime, units: int) -> Pod:
    """A pod of a Job of its own that holds GPUs."""
    cluster, vision = story.cluster, story.teams["vision"]
    like = next(h for h in story.held if h.workload.name == "sweep-resnet")
    work = Workload.objects.create(
        cluster=cluster,
        namespace=like.namespace,
        kind="Job",
        name=name,
        type="training",
    )
    pod = Pod.objects.create(
        cluster=cluster,
        uid=name,
        namespace=like.namespace,
        name=f"{name}-0",
        workload=work,
    )
    PodAttribution.objects.create(
        pod=pod,
        team=vision,
        workload_type="training",
        valid_from=datetime(1970, 1, 1, tzinfo=UTC),
        valid_to=FOREVER,
    )
    PodHold.objects.create(
        pod=pod,
        node=node,
        resource="nvidia.com/gpu",
        units=units,
        bound_ms=to_ms(since),
        created_ms=to_ms(since) - HOUR_MS,
    )
    return pod


def _word(n: int) -> str:
    """A name of letters that Kubernetes does not generate, so no two works are one family."""
    return "".join("aeiou"[n // 5**place % 5] for place in range(3))


def _windows(story: Story, since: datetime, facts: list[tuple[int, int, int]]) -> None:
    partitions.ensure(partitions.ALL_WINDOWS, since, story.until)
    starts = []
    while since < story.until:
        starts.append(since)
        since += timedelta(milliseconds=WINDOW_MS)
    busy = WINDOW_MS // 50  # idle (scheduling.md S28)
    same = (0, 0, 1, 10, 10)
    columns = (
        "COPY usage_window (cluster_id, window_start, gpu_id, pod_id, node_id, busy_ms,"
        " idle_ms, unknown_ms, free_ms, metric, samples_expected, samples_used) FROM STDIN"
    )
    with connection.cursor() as cursor, cursor.copy(columns) as copy:
        for at in starts:
            for key in facts:
                copy.write_row(
                    (story.cluster.pk, at, *key, busy, WINDOW_MS - busy, *same)
                )
    days = roll_up_hours(story.cluster.pk, Interval.of(starts[0], story.until))
    roll_up_days(story.cluster.pk, sorted(days))
    roll_up_by_gpu(story.cluster.pk)
    find_idle(story.cluster)
    look(AlertRule.IDLE)
    _ended_alerts()


def _ended_alerts() -> None:
    """As many archived and resolved ones, of the same teams."""
    alerts = [*Alert.objects.filter(rule="idle")]
    now = timezone.now()
    for n in range(2):
        for alert in alerts:
            alert.pk, alert.key = None, f"{n}/{alert.key}"
            alert.archived_figure = alert.figure if n == 0 else None
            alert.resolved_at = now if n else None
            alert.resolution = "gone" if n else ""
        Alert.objects.bulk_create(alerts)


def _findings(story: Story) -> None:
    day = story.until.date() - timedelta(days=1)
    start = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
    WasteFinding.objects.bulk_create(
        WasteFinding(
            cluster=story.cluster,
            day=day,
            rule="idle",
            team=story.teams["vision"],
            workload=work,
            start_ms=start,
            end_ms=start + 24 * HOUR_MS,
            gpu_ms=24 * HOUR_MS,
            raw=24 * HOUR_MS * Decimal("1.90"),
            currency="EUR",
        )
        for work in Workload.objects.filter(name__startswith="trial-")
    )


def _prices(rows: int) -> None:
    for n in range(rows):
        with act("ana", f"Agreed in round {n} of autumn."):
            UnitPrice.objects.create(
                model=f"NVIDIA-T{n:02d}",
                currency="EUR",
                rate_per_gpu_hour=Decimal("0.50"),
                valid_from=OPENED,
            )
            ConversionRate.objects.create(
                from_currency="CHF",
                to_currency="EUR",
                on=OPENED.date() - timedelta(days=n),
                rate=Decimal("1.07"),
            )
    with act("ana", "Costs of the year."):
        for n in range(rows):
            of = PriceList.objects.create(kind="cost", name=f"List {n}", currency="EUR")
            UnitPrice.objects.create(
                price_list=of,
                kind="cost",
                model=f"NVIDIA-T{n:02d}",
                currency="EUR",
                rate_per_gpu_hour=Decimal("0.30"),
                valid_from=OPENED,
            )


def _limits(story: Story, rows: int) -> None:
    """Quotas of a namespace that its team, leads, finance and admins read; a queue."""
    hard = {"requests.nvidia.com/gpu": "1"}
    objects = [
        *(("ResourceQuota", f"quota-{n:02d}", {"hard": hard}) for n in range(rows)),
        ("LocalQueue", "jobs", {"clusterQueue": "vision"}),
    ]
    Observation.objects.bulk_create(
        Observation(
            cluster=story.cluster,
            kind=kind,
            namespace="vision-prod",
            name=name,
            uid=name,
            digest=name,
            manifest={"kind": kind, "metadata": {"name": name}, "spec": spec},
            changed_at=OPENED,
        )
        for kind, name, spec in objects
    )
    QuotaTarget.objects.bulk_create(
        QuotaTarget(
            cluster=story.cluster,
            team=Team.objects.get(slug="vision"),
            resource=f"nvidia.com/gpu-{n}",
            gpus=n,
            split={"vision-prod": n},
            version=1,
        )
        for n in range(rows)
    )


def _contests(story: Story, lead: User, rows: int) -> None:
    made = Contest.objects.bulk_create(
        Contest(
            team=story.teams["vision"],
            period="2026-10",
            revision=1,
            of="statement",
            title=f"Question {n}",
            amount=Decimal(100 + n),
            currency="EUR",
            state="withdrawn",
        )
        for n in range(rows)
    )
    ContestStep.objects.bulk_create(
        ContestStep(contest=row, act=act, text="gpu-02 was down.", by=lead, at=OPENED)
        for row in made
        for act in ("contested", "withdrawn")
    )


def _jobs(story: Story, lead: User, rows: int) -> None:
    ExportJob.objects.bulk_create(
        ExportJob(
            what="charges",
            period="2026-10",
            revision=1,
            team="vision",
            format="csv",
            requested_by=lead,
            requested_at=OPENED,
            state="expired",
        )
        for _ in range(rows)
    )
    WhatIfRun.objects.bulk_create(
        WhatIfRun(
            cluster=story.cluster,
            request={"weeks": 2, "scenarios": [{"name": f"Case {n}"}]},
            requested_at=OPENED,
            state="failed",
            error="there are no recorded weeks",
        )
        for n in range(rows)
    )


def _changes(story: Story, lead: User, rows: int) -> None:
    edit = edit_fields(QuotaEdit(team="vision", resource="nvidia.com/gpu", gpus=8))
    ChangeSet.objects.bulk_create(
        ChangeSet(
            cluster=story.cluster,
            state="discarded",
            author=lead,
            author_name=LEAD,
            reason="Agreed in November.",
            edits=[edit],
        )
        for _ in range(rows)
    )
    edits = [QuotaEdit("vision", "nvidia.com/gpu", 8, f"tier-{n}") for n in range(rows)]
    long = ChangeSet.objects.create(
        pk=LONG_CHANGE,
        cluster=story.cluster,
        state="planned",
        author=lead,
        author_name=LEAD,
        reason="Agreed in November.",
        edits=[edit_fields(one) for one in edits],
        plan={"summary": "Many quotas added", "effects": [], "warnings": []},
        planned_at=OPENED,
        plan_expires_at=OPENED,
    )
    ChangeStep.objects.bulk_create(
        ChangeStep(
            change_set=long,
            position=n,
            kind="ResourceQuota",
            namespace="vision-prod",
            name=f"gpu-ledger-tier-{n}",
            action="create",
            body={"kind": "ResourceQuota", "spec": {"hard": {}}},
        )
        for n in range(rows)
    )
