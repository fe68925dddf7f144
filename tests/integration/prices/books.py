"""Small books: facts of exact milliseconds, set up and rolled up by the product itself.

Where the importer would need hours of samples to make one millisecond, the fact is written as
attribution would have; everything after it (teams, prices, hours, days, reports) is the product.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from accounting.metering.models.cluster import Cluster, Gpu, Node, NodeFact
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Namespace, Pod
from accounting.metering.tasks.evidence.workloads import resolve_pods
from accounting.metering.tasks.facts import partitions
from accounting.usage.tasks.rollup import roll_up_dirty_hours

HOUR_MS = 3_600_000
WINDOW_MS = 300_000
WINDOW = timedelta(milliseconds=WINDOW_MS)
MODEL = "NVIDIA-L40S"
TEN = datetime(2026, 10, 6, 10, tzinfo=UTC)  # a Tuesday
_COLUMNS = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")


@dataclass(frozen=True, slots=True)
class _Facts:
    """Windows of one GPU, with what identifies it, its time and what was measured."""

    starts: Sequence[datetime]
    key: tuple[int, ...]
    time: tuple[int, ...]
    seen: tuple[int, ...]


def _put(facts: Sequence[_Facts]) -> None:
    """Store facts and mark their hours."""
    starts = [at for fact in facts for at in fact.starts]
    end = max(starts) + timedelta(hours=1)
    partitions.ensure(partitions.ALL_WINDOWS, min(starts), end)
    key = "cluster_id, gpu_id, pod_id, node_id, instance"
    names = ", ".join(f"{name}_ms" for name in _COLUMNS)
    measured = "energy_seen_us, energy_mj, memory_seen_us, memory_peak_bytes"
    with connection.cursor() as cursor:
        for into, part in (
            (f"usage_window (window_start, {key}, flags, {names})", "time"),
            (f"intensity_window (window_start, {key}, {measured})", "seen"),
        ):
            with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for fact in facts:
                    for at in fact.starts:
                        copy.write_row((at, *fact.key, *getattr(fact, part)))
    hours = {
        (fact.key[0], at.astimezone(UTC).replace(minute=0))
        for fact in facts
        for at in fact.starts
    }
    DirtyHour.objects.bulk_create(
        [
            DirtyHour(cluster_id=cluster, hour_start=at, marked_at=TEN, reason="facts")
            for cluster, at in sorted(hours)
        ],
        ignore_conflicts=True,
    )


@dataclass
class Books:
    """Writes facts and set-ups; `settle` rolls up what they touched."""

    folder: Path
    _nodes: dict[str, int] = field(default_factory=dict, init=False)
    _held: list[_Facts] | None = field(default=None, init=False)

    def configure(self, text: str) -> str:
        """Set up, as `manage.py configure` does; returns what it said."""
        path = self.folder / "setup.yaml"
        path.write_text(text)
        out = io.StringIO()
        call_command("configure", str(path), stdout=out, stderr=io.StringIO())
        return out.getvalue()

    def gpu(
        self,
        uuid: str = "GPU-1",
        *,
        model: str = MODEL,
        lifecycle: str = "on-demand",
        cluster: str = "north",
    ) -> Gpu:
        """A GPU on a node of its own."""
        home, _ = Cluster.objects.get_or_create(name=cluster)
        node = Node.objects.create(cluster=home, name=f"node-of-{uuid}")
        NodeFact.objects.create(
            node=node, valid_from=TEN, model=model, lifecycle=lifecycle
        )
        return Gpu.objects.create(cluster=home, uuid=uuid, model=model)

    def pod(
        self,
        name: str = "train",
        *,
        space: str = "vision",
        tier: str = "",
        on: str = "",
    ) -> Pod:
        """A pod with a team by the rules in force."""
        home, _ = Cluster.objects.get_or_create(name=on or "north")
        namespace, _ = Namespace.objects.get_or_create(cluster=home, name=space)
        pod = Pod.objects.create(
            cluster=home,
            uid=f"uid-{name}",
            name=name,
            namespace=namespace,
            priority_class=tier,
        )
        resolve_pods(home, [pod.pk])
        return pod

    def write(
        self,
        gpu: Gpu,
        at: datetime,
        pod: Pod | None = None,
        *,
        flags: int = 0,
        instance: int = -1,
        energy_mj: int | None = None,
        peak_memory_bytes: int | None = None,
        **states: int,
    ) -> None:
        """One fact: milliseconds by state in the window that begins at `at`."""
        self.write_all(
            gpu,
            [at],
            pod,
            flags=flags,
            instance=instance,
            energy_mj=energy_mj,
            peak_memory_bytes=peak_memory_bytes,
            **states,
        )

    def write_all(
        self,
        gpu: Gpu,
        starts: Sequence[datetime],
        pod: Pod | None = None,
        *,
        flags: int = 0,
        instance: int = -1,
        energy_mj: int | None = None,
        peak_memory_bytes: int | None = None,
        **states: int,
    ) -> None:
        """The same fact in each window that begins at one of `starts`."""
        name = f"node-of-{gpu.uuid}"
        node = self._nodes.get(name) or Node.objects.get(name=name).pk
        seen = (
            *(int(energy_mj is not None), energy_mj or 0),
            *(int(peak_memory_bytes is not None), peak_memory_bytes or 0),
        )
        fact = _Facts(
            starts,
            (gpu.cluster_id, gpu.pk, pod.pk if pod else 0, node, instance),
            (flags, *(states.get(name, 0) for name in _COLUMNS)),
            seen,
        )
        if self._held is None:
            _put([fact])
        else:
            self._held.append(fact)
            self._nodes[name] = node

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what is written meanwhile at the end, in a few statements instead of thousands."""
        self._held = []
        yield
        held, self._held = self._held, None
        self._nodes.clear()
        if held:
            _put(held)

    def hours(
        self,
        gpu: Gpu,
        start: datetime,
        end: datetime,
        pod: Pod | None = None,
        state: str = "busy",
    ) -> None:
        """Whole windows of one state in [start, end)."""
        count = -((start - end) // WINDOW)  # rounded up
        starts = [start + n * WINDOW for n in range(count)]
        self.write_all(gpu, starts, pod, **{state: WINDOW_MS})

    def settle(self) -> None:
        """Roll up what is dirty, as workers do."""
        for cluster in Cluster.objects.all():
            roll_up_dirty_hours(cluster.pk)


def stored() -> list[tuple[object, ...]]:
    """Every fact with where it lies and who wrote it: equal only when none was touched."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT tableoid::regclass::text, ctid::text, xmin::text, w.*
               FROM usage_window w ORDER BY 1, 2"""
        )
        rows: list[tuple[object, ...]] = cursor.fetchall()
    return rows
