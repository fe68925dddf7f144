"""Work that waits in the story's cluster: every recorded case, in the story's namespaces.

Without the shared data there are three units, made here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from scheduler_view.clusters.models import WAITS, ObservationRun
from scheduler_view.queues.models.queues import (
    EstimateSummary,
    PoolSample,
    StartEstimate,
    WaitSummary,
)
from scheduler_view.queues.tasks.summaries import store_summaries
from scheduler_view.waits.mapping import wait_content
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.waits.rules.cause import Stage, WaitCause
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import read_world
from tests import shared_data
from tests.browser.forget import forget
from tests.story import Story
from tests.unit.waits import worlds

MODEL, RESOURCE = "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu"
FOLDER = shared_data.DATA / "public-pending-2026"
TEAM_OF = {
    "vision": "vision-prod",
    "search": "search-prod",
    "nlp": "language-prod",
    "llm": "robotics-prod",
    "prod": "fraud-prod",
    "lab": "scratch",
}
_NAMESPACE = re.compile(r'("namespace": )"(\w+)"')


def store_waits(story: Story) -> None:
    """Each case's first unit waits, one hour longer than the next one's."""
    forget_waits()
    at = datetime.now(UTC)
    for hours, (case, one) in enumerate(_explained()):
        since = at - timedelta(hours=hours + 1)
        UnitWait.objects.create(
            cluster=story.cluster,
            kind=one.kind,
            namespace=one.namespace,
            name=f"{one.name}-{case}",
            stage=one.stage.value,
            cause=one.cause.value,
            since=since,
            cause_since=since,
            changed_at=at,
            digest=case[:32],
            content=wait_content(one),
        )
        _record(story, one, case, since)
    _bound_before(story, at)
    _pools(story, at)
    store_summaries(story.cluster, at)
    ObservationRun.objects.create(
        cluster=story.cluster, kind=WAITS, tried_at=at, seen_at=at
    )


def _record(story: Story, one: WaitExplanation, case: str, since: datetime) -> None:
    """Units that holds keep waiting have a start in words; what starts has no position."""
    row = WaitRecord(
        cluster=story.cluster,
        kind=one.kind,
        namespace=one.namespace,
        name=f"{one.name}-{case}",
        uid=case,
        tier=one.priority_class,
        resource=one.resource,
        model=MODEL,
        units=(one.units_per_pod or 0) * one.pods.waiting,
        stage=one.stage.value,
        cause=one.cause.value,
        waits_since=since,
        created_at=since,
        admitted_at=since + timedelta(minutes=5),
    )
    if one.stage is not Stage.STARTING:
        row.position, row.count = 3, 74
    if one.cause is WaitCause.NO_FREE_GPU:
        row.start_word = "few" if "gang" in case else "four_hours"
        row.start_like, row.start_kept = (3, 0) if "gang" in case else (18, 17)
    row.save()


def _bound_before(story: Story, at: datetime) -> None:
    """Work of three tiers that ran, each with an estimate that was half an hour off."""
    for number in range(60):
        created = at - timedelta(hours=10 * number + 5)
        bound = created + timedelta(minutes=7 * number + 1)
        row = WaitRecord.objects.create(
            cluster=story.cluster,
            kind="Job",
            namespace="vision-prod",
            name=f"done-{number}",
            uid=f"done-{number}",
            tier=("critical", "batch", "")[number % 3],
            resource=RESOURCE,
            model=MODEL,
            created_at=created,
            admitted_at=created,
            bound_at=bound,
            started_at=bound + timedelta(minutes=2),
            ended_at=bound + timedelta(hours=2),
        )
        StartEstimate.objects.create(
            wait=row,
            made_at=created + timedelta(minutes=1),
            resource=RESOURCE,
            model=MODEL,
            start_at=bound + timedelta(minutes=30),
            low_at=created,
            high_at=bound + timedelta(hours=2 if number % 5 else -1),
        )


def _pools(story: Story, at: datetime) -> None:
    """Two pools through a week, one of them with a day without observations."""
    begin = at - timedelta(days=7)
    for model, gpus, slot in ((MODEL, 32, 0), ("NVIDIA-A100-SXM4-80GB", 40, 7)):
        PoolSample.objects.bulk_create(
            PoolSample(
                cluster=story.cluster,
                resource=RESOURCE,
                model=model,
                since=begin + timedelta(hours=hour),
                until=begin + timedelta(hours=hour + 1),
                waiting=(hour * 5 + slot) % 23,
                refused=4 if slot else 0,
                held_back=hour % 3,
                work=(hour + slot) % 9,
                capacity=gpus,
                available=(hour * 3) % 11,
                fitting=min((hour * 3) % 11, (hour * 5 + slot) % 23),
                fitting_held=2 if slot else 0,
            )
            for hour in range(7 * 24)
            if not slot or not 48 <= hour < 72
        )


def forget_waits() -> None:
    """Nothing waits."""
    UnitWait.objects.all().delete()
    PoolSample.objects.all().delete()
    WaitSummary.objects.all().delete()
    EstimateSummary.objects.all().delete()
    forget(StartEstimate, WaitRecord)  # the next unit has the number 1 again
    ObservationRun.objects.filter(kind=WAITS).delete()


def _explained() -> Iterator[tuple[str, WaitExplanation]]:
    for number, namespace in enumerate(("vision-prod", "vision-prod", "search-prod")):
        late = worlds.pod("late", 4, namespace=namespace)
        objects = {
            "Node": [worlds.node("a", 8)],
            "Pod": [worlds.pod("old", 8, on="a"), late],
        }
        world = {"objects": objects, "at_ms": worlds.NOW_MS}
        yield from _of(f"made-here-{number}", world)
    for path in sorted(FOLDER.glob("*.json")):
        text = _NAMESPACE.sub(_in_story, path.read_text())
        recorded = json.loads(text)
        if "objects" in recorded:
            at = datetime.fromisoformat(recorded["recorded_at"])
            recorded["at_ms"] = round(at.timestamp() * 1000)
            yield from _of(path.stem, recorded)


def _in_story(found: re.Match[str]) -> str:
    return f'{found[1]}"{TEAM_OF.get(found[2], found[2])}"'


def _of(
    case: str, recorded: Mapping[str, object]
) -> Iterator[tuple[str, WaitExplanation]]:
    world = read_world(recorded["objects"], recorded["at_ms"])  # type: ignore[arg-type]
    for one in Explainer(world).waiting():
        yield case, one
        return
