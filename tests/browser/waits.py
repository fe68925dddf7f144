"""Work that waits in the story's cluster: every recorded case, in the story's namespaces.

Without the shared data there is one unit, made here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from scheduler_view.domain.waits.explain import Explainer
from scheduler_view.domain.waits.explanation import WaitExplanation
from scheduler_view.domain.waits.world.world import read_world
from scheduler_view.mapping import wait_content
from scheduler_view.models import ObservationRun, UnitWait
from scheduler_view.observation.waits import WAITS
from tests import shared_data
from tests.story import Story
from tests.unit.scheduler_view.domain.waits import worlds

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
    ObservationRun.objects.create(
        cluster=story.cluster, kind=WAITS, tried_at=at, seen_at=at
    )


def forget_waits() -> None:
    """Nothing waits."""
    UnitWait.objects.all().delete()
    ObservationRun.objects.filter(kind=WAITS).delete()


def _explained() -> Iterator[tuple[str, WaitExplanation]]:
    objects = {
        "Node": [worlds.node("a", 8)],
        "Pod": [worlds.pod("old", 8, on="a"), worlds.pod("late", 4)],
    }
    yield from _of("made-here", {"objects": objects, "at_ms": worlds.NOW_MS})
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
