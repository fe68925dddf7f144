"""The demo of docker-compose.yml: with a real Prometheus between cluster and portal.

`python -m portal.demo.bootstrap.compose cluster` simulates the cluster next to that Prometheus
(both share one network, so that nothing else can reach it) and lists its exporters for it;
`history` connects the portal to it, imports the past, and ends.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from portal.demo.scenario.fleet import Pool

HOME = Path(os.environ.get("DEMO_HOME", "/demo"))  # a volume of both services
PORT = int(os.environ.get("DEMO_PORT", "8001"))
PROMETHEUS = os.environ.get("DEMO_PROMETHEUS", "http://prometheus:9090")
SEED = 7

# The portal queries Prometheus instead of reading exporters.
SOURCES = f"""
clusters:
  - name: demo
    sources:
      - name: history
        kind: openmetrics
        interval: 300
      - name: live
        kind: prometheus
        url: {PROMETHEUS}
        interval: 30
"""


def targets(places: list[tuple[Pool, str]], kube_path: str) -> list[dict[str, object]]:
    """The simulated exporters, in the format of Prometheus' `file_sd_configs`."""
    address = f"127.0.0.1:{PORT}"
    jobs = [
        (
            "amd-exporter" if pool.model.is_amd else "dcgm-exporter",
            place,
            f"/nodes/{place}/metrics",
        )
        for pool, place in places
    ]
    jobs.append(("kube-state-metrics", "kube-state-metrics", kube_path))
    return [
        {
            "targets": [address],
            "labels": {"job": job, "instance": instance, "__metrics_path__": path},
        }
        for job, instance, path in jobs
    ]


def cluster() -> int:
    """Serve the cluster until stopped; its state is stored in the home folder."""
    from portal.demo.bootstrap import server  # noqa: PLC0415  # only this role needs it
    from portal.demo.bootstrap.state import Memory  # noqa: PLC0415  # only this role needs it
    from portal.demo.scenario.story import WEEK_DAYS, WHOLE_FLEET, Story  # noqa: PLC0415  # only this role needs it

    memory = Memory.load(HOME)
    if memory is None:
        now_s = int(time.time())
        story = Story.ending_at(now_s, seed=SEED, days=8 * WEEK_DAYS, gpus=WHOLE_FLEET)
        memory = Memory.first(HOME, story)
        memory.save()
    found = targets(server.places(memory.story), server.KUBE_PATH)
    draft = HOME / "targets.json.new"
    draft.write_text(json.dumps(found))
    draft.rename(HOME / "targets.json")
    story_text = json.dumps(asdict(memory.story))
    return server.main(["--story", story_text, "--port", str(PORT)])


def history() -> int:
    """Set the portal up and import all missing history."""
    import django  # noqa: PLC0415  # only this role needs it

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()
    from django.conf import settings  # noqa: PLC0415  # needs Django set up

    from accounting.kit.audit import SYSTEM  # noqa: PLC0415  # needs Django set up
    from accounting.setup.tasks.apply import apply_configuration  # noqa: PLC0415  # needs Django set up
    from accounting.setup.tasks.schema import read_configuration  # noqa: PLC0415  # needs Django set up
    from portal.demo.bootstrap.fill import fill  # noqa: PLC0415  # needs Django set up
    from portal.demo.bootstrap.setup import set_up, table  # noqa: PLC0415  # needs Django set up
    from portal.demo.bootstrap.state import Memory  # noqa: PLC0415  # needs Django set up

    memory = Memory.load(HOME)
    if memory is None:
        sys.stderr.write("the simulated cluster has not started yet\n")
        return 1  # the container is started again
    sign_ins = set_up(memory.story, PORT, settings.SECRET_KEY)
    apply_configuration(read_configuration(SOURCES), actor=SYSTEM)
    _say(f"{settings.PUBLIC_URL}\n{table(sign_ins)}")
    memory.reach(int(time.time()))
    fill(HOME, _say)
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run one of the roles."""
    roles: dict[str, Callable[[], int]] = {"cluster": cluster, "history": history}
    if len(arguments) != 1 or arguments[0] not in roles:
        sys.stderr.write(f"one of these is needed: {', '.join(roles)}\n")
        return 2
    return roles[arguments[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
