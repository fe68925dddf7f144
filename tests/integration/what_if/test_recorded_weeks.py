"""Recorded weeks are read from the ledger, replayed, and what-ifs answered by the command.

Not here: the replay (`tests/unit/what_if/test_replay.py`).
"""

import gzip
import json
import re
import signal
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from django.core.management.base import OutputWrapper

from accounting.access.models.teams import Team
from accounting.kit.commands.progress import Progress
from accounting.metering.models.cluster import Cluster, Gpu, GpuPresence, Node, NodeFact
from accounting.metering.models.pod import (
    Namespace,
    Pod,
    PodAttribution,
    PodHold,
    Workload,
)
from scheduler_view.quotas.models import QuotaTarget, Tier
from scheduler_view.what_if.commands import simulate
from scheduler_view.what_if.reads.recorded_weeks import recorded_weeks
from scheduler_view.what_if.rules.recorded import WEEK_MS
from scheduler_view.what_if.tasks.request import TraceSection
from tests.integration.commands.conftest import run
from tests.integration.faults.support import LONGEST_S, environment, started

pytestmark = pytest.mark.django_db

END = datetime(2026, 11, 1, tzinfo=UTC)
END_MS = int(END.timestamp() * 1000)
START_MS = END_MS - 2 * WEEK_MS
HOUR = 3_600_000
MODEL = "NVIDIA-A100-SXM4-80GB"
OPENB = "sn,cpu_milli,memory_mib,gpu,model\na,64000,1,4,T4\nb,64000,1,0,\n"
PODS = "name,cpu_milli,num_gpu,gpu_milli,gpu_spec\np,1000,1,500,\nq,1000,2,1000,T4\n"


class Recorded:
    """A cluster with one node of 8 GPUs, all its life."""

    def __init__(self, cluster: str = "north", team: str = "search") -> None:
        self.cluster = Cluster.objects.create(name=cluster, data_end_ms=END_MS)
        self.team = Team.objects.create(slug=team, name=team, colour_slot=1)
        self.namespace = Namespace.objects.create(
            cluster=self.cluster, name="search-prod"
        )
        self.node = self.add_node("n1", {"nvidia_com_gpu": 8})
        self.pods = 0

    def add_node(self, name: str, capacity: dict[str, int], gpus: int = 8) -> Node:
        node = Node.objects.create(cluster=self.cluster, name=name)
        labels = {"label_nvidia_com_gpu_product": MODEL}
        if "nvidia_com_gpu" not in capacity:
            labels["label_nvidia_com_mig_strategy"] = "mixed"
        NodeFact.objects.create(
            node=node,
            valid_from=END - timedelta(days=30),
            capacity=capacity,
            labels=labels,
            model=MODEL,
        )
        for number in range(gpus):
            gpu = Gpu.objects.create(
                cluster=self.cluster, uuid=f"GPU-{name}-{number}", model=MODEL
            )
            GpuPresence.objects.create(gpu=gpu, node=node, start_ms=0)
        return node

    def hold(
        self,
        created_h: float,
        bound_h: float,
        hours: float | None,
        units: int = 8,
        *,
        workload: Workload | None = None,
        node: Node | None = None,
        resource: str = "nvidia.com/gpu",
        share: Fraction = Fraction(1),
        tier: str = "",
    ) -> None:
        self.pods += 1
        pod = Pod.objects.create(
            cluster=self.cluster,
            uid=f"uid-{self.pods}",
            namespace=self.namespace,
            name=f"p{self.pods}",
            workload=workload,
            priority_class=tier,
        )
        PodAttribution.objects.create(
            pod=pod,
            team=self.team,
            workload_type="training",
            valid_from=datetime(1970, 1, 1, tzinfo=UTC),
            valid_to=datetime(9999, 1, 1, tzinfo=UTC),
        )
        bound = START_MS + int(bound_h * HOUR)
        PodHold.objects.create(
            pod=pod,
            node=node or self.node,
            resource=resource,
            units=units,
            share_numerator=share.numerator,
            share_denominator=share.denominator,
            created_ms=START_MS + int(created_h * HOUR),
            bound_ms=bound,
            ended_ms=None if hours is None else bound + int(hours * HOUR),
        )


@pytest.fixture
def recorded() -> Recorded:
    """Each week one unit waits nine hours for another to end."""
    made = Recorded()
    for week in range(2):
        made.hold(168 * week, 168 * week, 10)
        made.hold(168 * week + 1, 168 * week + 10, 10)
    return made


def test_weeks_are_read_with_nodes_gangs_quotas_and_priorities(
    recorded: Recorded,
) -> None:
    job = Workload.objects.create(
        cluster=recorded.cluster,
        namespace=recorded.namespace,
        kind="PyTorchJob",
        name="gang",
    )
    for created in (30.0, 30.005, 60.0):  # 18 s apart; a later attempt
        recorded.hold(created, 60, 5, 4, workload=job, tier="low-v1")
    recorded.hold(-400, -400, 1)  # ended before the weeks
    recorded.hold(-20, -20, None, 1)
    recorded.hold(40, 40, 1, 1, share=Fraction(1, 4))
    mig = recorded.add_node("m1", {"nvidia_com_mig_1g_10gb": 14}, gpus=2)
    recorded.hold(
        41,
        41,
        1,
        node=mig,
        units=2,
        resource="nvidia.com/mig-1g.10gb",
        share=Fraction(1, 7),
    )
    recorded.hold(42, 42, 1, units=1, resource="gpu.nvidia.com")  # a claim
    Tier.objects.create(
        cluster=recorded.cluster,
        name="low",
        value=-5,
        class_name="low-v2",
        old_classes=["low-v1"],
        version=1,
    )
    QuotaTarget.objects.create(
        cluster=recorded.cluster,
        team=recorded.team,
        resource="nvidia.com/gpu",
        gpus=16,
        version=1,
    )
    found = recorded_weeks(recorded.cluster, 2)
    assert found is not None
    weeks = found.weeks
    assert (weeks.start_ms, weeks.end_ms, found.left_out) == (START_MS, END_MS, 1)
    assert [(n.node.name, n.node.gpus, n.share) for n in weeks.nodes] == [
        ("m1 nvidia.com/mig-1g.10gb", 14, Fraction(1, 7)),
        ("n1 nvidia.com/gpu", 8, 1),
    ]
    assert weeks.quotas == {}, "what they refused was created later"
    gangs = [unit for unit in weeks.units if unit.tier == "low-v1"]
    assert [(len(unit.pods), unit.priority) for unit in gangs] == [(2, -5), (1, -5)]
    by_name = {unit.name: unit.pods[0] for unit in weeks.units}
    assert "search-prod/p8" not in by_name, "it ended before"
    assert by_name["search-prod/p9"].ended_ms is None
    part, instances = by_name["search-prod/p10"], by_name["search-prod/p11"]
    assert (part.request.gpu_milli, part.milli) == (250, 250)
    assert (instances.request.gpus, instances.request.gpu_milli) == (2, 1000)
    assert instances.milli == 286  # two sevenths
    assert {unit.team for unit in weeks.units} == {"search"}


def test_a_node_is_closed_while_it_is_cordoned_until_a_pod_is_bound_there(
    recorded: Recorded,
) -> None:
    """Samples show a cordon from 20 to 30 and from 50 on, and the node itself from 5 on."""
    for hour, state in ((20, "true"), (30, ""), (50, "true")):
        NodeFact.objects.create(
            node=recorded.node,
            valid_from=END - timedelta(days=14) + timedelta(hours=hour),
            capacity={"nvidia_com_gpu": 8},
            labels={"unschedulable": state} if state else {},
            model=MODEL,
        )
    GpuPresence.objects.update(start_ms=START_MS + 5 * HOUR)
    recorded.hold(60, 61, 1)
    found = recorded_weeks(recorded.cluster, 2)
    assert found is not None
    [node] = found.weeks.nodes
    hours = [
        tuple(None if at is None else (at - START_MS) / HOUR for at in one)
        for one in node.open_ranges
    ]
    assert hours == [(0, 20), (30, 50), (61, None)]


def test_the_command_calibrates_and_answers(recorded: Recorded, tmp_path: Path) -> None:
    file = tmp_path / "what-if.yaml"
    file.write_text(
        f"cluster: north\nweeks: 2\nrate: 2.50\nscenarios:\n"
        f"  - name: 8 more\n    gpus: [{{model: {MODEL}, change: 8}}]\n"
    )
    ended = run("simulate", str(file), "--format=json")
    assert ended.code == 0, ended.err
    assert "FGD: 4 of 4 units (100.0%) bound within 60 s" in ended.err
    assert "is calibrated" in ended.err
    rows = {row["measure"]: row for row in json.loads(ended.out)["rows"]}
    wait = rows["mean wait in minutes"]
    assert (wait["low"], wait["high"]) == ("0.0", "0.0")
    assert (wait["change_low"], wait["clear"]) == ("-270.0", "yes")
    assert rows["cost of installed GPUs a week"]["change_low"] == "3360.00"
    before = PodHold.objects.count()
    assert before == 4


def test_a_file_may_name_every_part_of_a_scenario(
    recorded: Recorded, tmp_path: Path
) -> None:
    assert recorded.pods == 4
    file = tmp_path / "what-if.yaml"
    file.write_text(
        f"cluster: north\nweeks: 2\npolicy: FGD\nscenarios:\n"
        f"- name: all\n  policy: BestFit\n  any_model: true\n"
        f"  gpus: [{{model: {MODEL}, change: 16}}]\n"
        f"  quotas: {{search: 4}}\n  tiers: {{}}\n"
        f"  sharing: [{{workload_type: training, gpus: 0.5}}]\n"
        f"  mig: [{{model: {MODEL}, nodes: 1, profile: 1g.10gb, team: search}}]\n"
        f"- name: free\n  quotas: {{search: none}}\n"
    )
    ended = run("simulate", str(file), "--format=json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)["rows"]
    never = [
        row for row in rows if row["measure"] == "units of a week that never start"
    ]
    # 8 GPUs for each unit are above the quota of 4
    assert [row["low"] for row in never] == ["2.0", "0.0"]


def test_a_replay_that_is_too_far_off_gives_no_answer(
    recorded: Recorded, tmp_path: Path
) -> None:
    for hour in range(100, 110):  # each waited an hour beside a free node
        recorded.hold(hour * 2, hour * 2 + 1, 0.5, 1)
    file = tmp_path / "what-if.yaml"
    file.write_text(
        "cluster: north\nweeks: 2\npolicy: BestFit\nrate: 2\n"
        "scenarios: [{name: same}]\n"
    )
    ended = run("simulate", str(file), "--format=json")
    assert (ended.code, json.loads(ended.out)) == (1, {"rows": []})
    assert "; 10 (71.4%) waited for something other than GPUs" in ended.err
    assert "no answer" in ended.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cluster: south\nscenarios: [{name: a}]",
            "line 1: cluster: no cluster is called 'south'",
        ),
        ("cluster: north\npolicy: X\nscenarios: [{name: a}]", "'X' is not a policy"),
        ("cluster: north", "scenarios: missing"),
        (
            "cluster: north\nscenarios:\n- name: a\n  quotas: {vision: 1}",
            "no team 'vision' held GPUs",
        ),
        (
            "cluster: north\nscenarios:\n- {name: a, gpus: [{model: X, change: 1}]}",
            "no node has X",
        ),
        ("trace: {nodes: no.csv, pods: no.csv}", "no.csv cannot be read"),
    ],
)
def test_wrong_files_are_refused_with_the_reason(
    recorded: Recorded, tmp_path: Path, text: str, message: str
) -> None:
    assert recorded.pods == 4
    file = tmp_path / "what-if.yaml"
    file.write_text(text)
    ended = run("simulate", str(file))
    assert (ended.code, message in ended.err) == (2, True), ended.err


def test_a_cluster_without_holds_is_refused(tmp_path: Path) -> None:
    Cluster.objects.create(name="north")
    file = tmp_path / "what-if.yaml"
    file.write_text("cluster: north\nscenarios: [{name: a}]")
    ended = run("simulate", str(file))
    assert (ended.code, "no holds in the last 4 weeks" in ended.err) == (2, True)


def test_a_trace_is_replayed_from_csv_files(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(OPENB)
    (tmp_path / "pods.csv.gz").write_bytes(gzip.compress(PODS.encode()))
    file = tmp_path / "trace.yaml"
    file.write_text(
        "trace: {nodes: nodes.csv, pods: pods.csv.gz, policies: [FGD], seeds: 3,"
        " loads: [50, 100]}"
    )
    ended = run("simulate", str(file), "--format=json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)["rows"]
    assert [(row["policy"], row["load_percent"]) for row in rows] == [
        ("FGD", 50),
        ("FGD", 100),
    ]
    assert all(0 < float(row["low"]) <= float(row["high"]) <= 100 for row in rows)
    for name, content, message in (
        ("nodes.csv", OPENB.replace("gpu,model", "g,model"), "no column 'gpu'"),
        ("nodes.csv", OPENB.replace(",4,", ",x,"), "line 2: invalid literal"),
        ("nodes.csv", OPENB.replace(",4,", ",0,"), "no node has GPUs"),
    ):
        (tmp_path / name).write_text(content)
        ended = run("simulate", str(file))
        assert (ended.code, message in ended.err) == (2, True), ended.err


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
def write_trace(folder: Path) -> None:
    """200 nodes of 8 GPUs, and pods of whose order each seed draws another number."""
    nodes = "".join(f"n{at},96000,1,8,T4\n" for at in range(200))
    (folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\n" + nodes)
    pods = "".join(f"p{at},1000,1,{at % 900 + 1},\n" for at in range(2000))
    header = "name,cpu_milli,num_gpu,gpu_milli,gpu_spec\n"
    (folder / "pods.csv").write_text(header + pods)


def test_the_count_of_a_replay_never_falls(tmp_path: Path) -> None:
    """From one seed to the next, where the line would lose its rate."""
    write_trace(tmp_path)
    trace = TraceSection(
        nodes="nodes.csv", pods="pods.csv", policies=("Random",), seeds=16
    )
    out = StringIO()
    seconds = count(step=6)  # a line for each step
    with Progress(OutputWrapper(out), lambda: float(next(seconds))) as progress:
        list(simulate._replay_trace(trace, tmp_path, progress))
    lines = out.getvalue().splitlines()
    done = [int(line.split()[1]) for line in lines]
    assert len(done) > 20
    assert done == sorted(done)
    assert all(line.endswith(" left") for line in lines[1:])


def test_a_long_replay_shows_progress_and_ends_by_ctrl_c(
    tmp_path: Path, redis_url: str
) -> None:
    write_trace(tmp_path)
    file = tmp_path / "trace.yaml"
    file.write_text("trace: {nodes: nodes.csv, pods: pods.csv, seeds: 1000}")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with started(environment(redis_url), "simulate", file) as child:
            assert child.stderr is not None
            line = child.stderr.readline()
            assert re.search(r"^Random: \d+ of \d+ \(\d+%\)", line), line
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=LONGEST_S)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (child.returncode, err) == (
        130,
        "simulate: stopped. Nothing was stored.\n",
    )
