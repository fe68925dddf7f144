"""Queues of the past two days, observed as a worker would have observed them at the time.

Each observation reads the simulated Kubernetes API as of a past moment, oldest first. It runs while
no worker does: each observation continues the one before it.
"""

from datetime import UTC, datetime
from pathlib import Path

from accounting.metering.models.cluster import Cluster
from portal.demo.bootstrap.server import READER_TOKEN
from portal.demo.bootstrap.setup import CLUSTER, ApiAddress
from portal.demo.kube_api.mirror import Mirror
from portal.demo.kube_api.server import serving
from portal.demo.kube_api.users import User
from portal.demo.scenario.edits import load
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.story import DAY_S, Story
from scheduler_view.clusters.client.access import AccessRole, access_of
from scheduler_view.clusters.client.client import ClusterClient, connect
from scheduler_view.clusters.models import WAITS, ObservationRun
from scheduler_view.clusters.tasks.preemptions import note_preemptions
from scheduler_view.queues.tasks.observe_queues import observe_waits

PAST_S = 2 * DAY_S  # what the chart of a pool shows
STEP_S = 600  # at most pool_samples.LONGEST_GAP, else nothing is known of the time in between


def observe_past(story: Story, home: Path, until_s: int, past_s: int = PAST_S) -> int:
    """Observe what has not been observed of the time before a moment, also after a stop.

    Args:
        home: has the token of the reader, and the changes by people.
        until_s: the moment in Unix seconds.
        past_s: how long before it observations begin, in seconds.

    Returns:
        The number of observations.
    """
    cluster = Cluster.objects.get(name=CLUSTER)
    since_s = max(story.start_s, until_s - past_s, _observed_s(cluster) + STEP_S)
    moments = range(since_s, until_s, STEP_S)
    if not moments:
        return 0
    engine = Engine(story, load(home))
    mirror = Mirror(engine, home)
    users = {(home / READER_TOKEN).read_text().strip(): User("gpu-ledger-reader")}
    with serving(mirror.store, users) as api:
        settings = ApiAddress(api.server_port, home).settings
        with connect(access_of(CLUSTER, settings, AccessRole.READER)) as client:
            for at_s in moments:
                engine.advance(at_s)
                mirror.show(at_s)
                _observe(cluster, client, datetime.fromtimestamp(at_s, UTC))
    return len(moments)


def _observed_s(cluster: Cluster) -> int:
    """The last observation in Unix seconds; 0 if there was none."""
    run = ObservationRun.objects.filter(cluster=cluster, kind=WAITS).first()
    return int(run.seen_at.timestamp()) if run is not None and run.seen_at else 0


def _observe(cluster: Cluster, client: ClusterClient, at: datetime) -> None:
    note_preemptions(cluster, client)
    observe_waits(cluster, client, {}, at)
