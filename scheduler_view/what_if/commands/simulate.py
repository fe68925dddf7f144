"""`manage.py simulate FILE.yaml`: replays a trace, or answers what-ifs over recorded weeks."""

import csv
import gzip
import statistics
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import BaseCommand

from accounting.kit.commands.arguments import WrongUse
from accounting.kit.commands.output import (
    FINDING,
    HIDDEN,
    INTERRUPTED,
    WRONG_USE,
    until_closed,
    write_rows,
)
from accounting.kit.commands.progress import Progress
from accounting.metering.models.cluster import Cluster
from accounting.setup.tasks.yaml_lines import DocumentError
from scheduler_view.what_if.reads.recorded_weeks import recorded_weeks
from scheduler_view.what_if.rules.calibration import Trust
from scheduler_view.what_if.rules.cluster import ReplayCluster, ReplayNode
from scheduler_view.what_if.rules.fragments import popular_classes
from scheduler_view.what_if.rules.openb import node_of, pod_of
from scheduler_view.what_if.rules.placer import Placer
from scheduler_view.what_if.rules.policies.catalogue import policy_of
from scheduler_view.what_if.rules.request import ReplayPod
from scheduler_view.what_if.rules.saturation import drawn_order, inflated, saturate
from scheduler_view.what_if.rules.what_ifs.scenario import ScenarioError
from scheduler_view.what_if.rules.what_ifs.what_if import what_if
from scheduler_view.what_if.tasks.request import (
    TraceFile,
    TraceSection,
    WeeksFile,
    read_simulation,
)
from scheduler_view.what_if.tasks.rows import (
    answer_rows,
    calibration_line,
    verdict_line,
)

Read = TypeVar("Read")


class Command(BaseCommand):
    """Exits with 0, with 1 if the replay is too inexact for an answer, with 2 for wrong use."""

    help = (
        "Replay a trace of nodes and pods with placement policies, or answer what-ifs over the "
        "recorded weeks of a cluster. What happened is replayed first; its error is printed, "
        "and decides whether there is an answer. Nothing is stored."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file."""
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="YAML: `trace`, or `cluster` and `scenarios`; docs/scheduling.md S36",
        )
        parser.add_argument(
            "--format", choices=["table", "csv", "json"], default="table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Replay and print."""
        file: Path = options["file"]
        try:
            rows, trust = self._rows(file)
        except (WrongUse, ScenarioError) as error:
            self.stderr.write(f"simulate: {error}")
            sys.exit(WRONG_USE)
        except DocumentError as error:
            for fault in error.faults:
                self.stderr.write(f"{file}: {fault}")
            sys.exit(WRONG_USE)
        except KeyboardInterrupt:
            self.stderr.write("simulate: stopped. Nothing was stored.")
            sys.exit(INTERRUPTED)
        with until_closed():
            write_rows(rows, options["format"], self.stdout)
        if trust is Trust.REFUSED:
            sys.exit(FINDING)

    def _rows(self, file: Path) -> tuple[list[dict[str, Any]], Trust]:
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise WrongUse(f"{file} cannot be read: {error}") from None
        names = Cluster.objects.values_list("name", flat=True)
        wanted = read_simulation(text, lambda: [*names])
        with Progress(self.stderr) as progress:
            if isinstance(wanted, TraceFile):
                found = _replay_trace(wanted.trace, file.parent, progress)
                return [*found], Trust.CALIBRATED
            return self._weeks(wanted, progress)

    def _weeks(
        self, wanted: WeeksFile, progress: Progress
    ) -> tuple[list[dict[str, Any]], Trust]:
        found = recorded_weeks(Cluster.objects.get(name=wanted.cluster), wanted.weeks)
        if found is None or not found.weeks.units:
            raise WrongUse(
                f"{wanted.cluster}: no holds in the last {wanted.weeks} weeks"
            )
        result = what_if(
            found.weeks,
            [one.scenario() for one in wanted.scenarios],
            wanted.policy or "",
            wanted.rate,
            progress.tell,
        )
        if found.left_out:
            self.stderr.write(
                f"{found.left_out} holds are left out: their devices are not units of a node"
            )
        for one in result.calibrations:
            self.stderr.write(calibration_line(one))
        self.stderr.write(verdict_line(result.chosen))
        rows = [row for answer in result.answers for row in answer_rows(answer)]
        return rows, result.chosen.trust


def _replay_trace(
    trace: TraceSection, folder: Path, progress: Progress
) -> Iterator[dict[str, Any]]:
    """A row for each policy and load: mean, lowest and highest allocated percent of the seeds."""
    nodes, pods = _read(trace, folder)
    classes = popular_classes(pod.request for pod in pods)
    for name in trace.policies:
        found: dict[int, list[float]] = {load: [] for load in trace.loads}
        dropped = []
        done = 0  # pods of the seeds before; each seed draws another number
        for seed in range(trace.seeds):
            cluster = ReplayCluster(drawn_order(nodes, seed))
            order = inflated(pods, cluster.total_milli, seed)
            expected = done + (trace.seeds - seed) * len(order)

            def tell(
                pod: int, name: str = name, done: int = done, total: int = expected
            ) -> None:
                if not pod % 500:
                    progress.tell(name, done + pod, total)

            placer = Placer(cluster, policy_of(name, cluster, seed, classes))
            result = saturate(placer, order, trace.loads, tell)
            done += len(order)
            dropped.append(result.dropped)
            for load, share in result.allocated.items():
                found[load].append(100 * float(share))
        for load, values in found.items():
            yield {
                "policy": name,
                "load_percent": load,
                "allocated_percent": f"{statistics.mean(values):.2f}",
                "low": f"{min(values):.2f}",
                "high": f"{max(values):.2f}",
                "seeds": trace.seeds,
                "dropped_pods": f"{statistics.mean(dropped):.0f}",
            }


def _read(
    trace: TraceSection, folder: Path
) -> tuple[list[ReplayNode], list[ReplayPod]]:
    nodes = [one for one in _each(folder / trace.nodes, node_of) if one.gpus]
    if not nodes:
        raise WrongUse(f"{trace.nodes}: no node has GPUs")
    pods = _each(folder / trace.pods, pod_of)
    if not any(pod.request.gpus for pod in pods):
        raise WrongUse(f"{trace.pods}: no pod requests GPUs")
    return nodes, pods


def _each(path: Path, read: Callable[[Mapping[str, str]], Read]) -> list[Read]:
    """Every row of a file, read; an error names the file and line."""
    found = []
    for line, row in enumerate(_checked(path), start=2):
        try:
            found.append(read(row))
        except KeyError as error:
            raise WrongUse(f"{path}: there is no column {error}") from None
        except (ValueError, TypeError) as error:
            raise WrongUse(f"{path}: line {line}: {error}") from None
    return found


def _checked(path: Path) -> Iterator[Mapping[str, str]]:
    """Rows of a CSV file; errors name the file."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt") as file:
            yield from csv.DictReader(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongUse(f"{path} cannot be read: {error}") from None
