"""A cluster that lives, step by step, and the ledger of it: the rules and the checks.

`test_stateful` lets Hypothesis choose the steps; `test_wrong_ledger` shows that the checks
find what is wrong.
"""

import io
import signal
import tempfile
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from accounting.core.interval import WINDOW_MS, Interval, to_instant, to_ms
from accounting.kit.failpoints import NAMES
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.facts.commit import mark_hours
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import leases, schedule, window_results
from accounting.metering.tasks.windows.leases import WindowLeaseLostError
from accounting.metering.tasks.windows.window_results import WindowResult
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.integration.faults.forks import Warm
from tests.integration.faults.support import ask, ledger, unfinished
from tests.integration.metering.support import run
from tests.oracle.comparison import (
    CLUSTER,
    clear,
    differences,
    imported,
    none_of,
    write,
)
from tests.oracle.ledger import Known
from tests.oracle.ledger import ledger as oracle
from tests.oracle.samples import Sample
from tests.oracle.world import DIVIDED, SHARDS, WITNESS, World

HELD = ("n0", "n1")
READ = ("import_metrics", f"--cluster={CLUSTER}")
SETUP = """
billing: {{currency: EUR, timezone: Europe/Berlin}}
teams: [{{slug: a, name: A}}, {{slug: b, name: B}}]
bindings: [{bindings}]
prices: [{prices}]
"""
PRICE = (
    '{{model: NVIDIA-A100-SXM4-80GB, rate_per_gpu_hour: "{rate}", valid_from: "{at}"}}'
)
BINDING = '{{namespace: team, team: {team}, valid_from: "{at}"}}'
warm: list[Warm] = []  # the one, for machines that Hypothesis makes


def said() -> dict[str, list[Any]]:
    """All that the ledger says; rows that differ in the price only are in one order."""
    return {part: sorted(rows, key=repr) for part, rows in ledger().items()}


class Living(RuleBasedStateMachine):
    """A cluster, its samples so far, and the database that has read them."""

    steps = 0

    @initialize(chance=st.integers(0, 2**16))
    def begin(self, chance: int) -> None:
        """An empty database and a cluster that runs."""
        clear()
        self.world = World(chance)
        self.read: list[Sample] = []
        self.known: Known = {}
        self.late: list[Sample] = []
        self.files: list[list[Sample]] = []
        self.prices = {"2026-01-01": "2.10"}  # the rate from each start on
        self.bindings = [BINDING.format(team="a", at="2026-01-01")]
        self.folder = tempfile.TemporaryDirectory()
        self.configure()
        self.take(self.world.pass_time(4))

    def teardown(self) -> None:
        """What was read in pieces is what is read at once (I2, I8, I10).

        Both by an oracle that remembers nothing.
        """
        if not hasattr(self, "folder"):
            return
        with self.folder:
            in_pieces = said()
            none_of(differences(oracle(self.read), in_pieces["holds"]))
            clear()
            self.configure()
            imported([self.file(self.read)])
            assert said() == in_pieces

    @rule()
    def a_calm_moment(self) -> None:
        """Nothing happens: the simplest step, which Hypothesis tries first."""

    # --- what happens in the cluster -------------------------------------------------

    @rule(
        node=st.sampled_from([*HELD, DIVIDED]),
        units=st.integers(1, 2),
        name=st.sampled_from(["train", "tune", "serve"]),
        is_labelled=st.booleans(),
    )
    def a_pod_starts(
        self, node: str, units: int, name: str, *, is_labelled: bool
    ) -> None:
        self.world.start_pod(node, units, name, is_labelled=is_labelled)
        self.passes(3)

    @precondition(lambda self: self.world.running())
    @rule(n=st.integers(0, 9), how=st.sampled_from(["gone", "Succeeded", "Failed"]))
    def a_pod_ends(self, n: int, how: str) -> None:
        running = self.world.running()
        self.world.end_pod(running[n % len(running)], how)
        self.passes(3)

    @precondition(lambda self: self.world.running())
    @rule(n=st.integers(0, 9))
    def a_pod_moves(self, n: int) -> None:
        running = self.world.running()
        pod = running[n % len(running)]
        self.world.end_pod(pod, "gone")
        other = next(node for node in HELD if node != pod.node)
        self.world.start_pod(other, pod.units, pod.name, is_labelled=pod.is_labelled)
        self.passes(3)

    @rule(node=st.sampled_from(HELD))
    def a_gpu_is_swapped(self, node: str) -> None:
        self.world.swap(node)
        self.passes(4)

    @rule(layout=st.integers(0, 5))
    def a_gpu_is_divided_anew(self, layout: int) -> None:
        self.world.divide(layout)
        self.passes(4)

    @rule(node=st.sampled_from([*HELD, WITNESS]))
    def counters_are_reset(self, node: str) -> None:
        self.world.reset(node)
        self.passes(2)

    @rule(
        node=st.sampled_from(HELD),
        what=st.sampled_from(["host", "naming", "instance"]),
    )
    def an_exporter_changes_its_labels(self, node: str, what: str) -> None:
        machine = self.world.machine(node)
        if what == "host":
            flapped = {"Hostname": "hostname", "hostname": "Hostname"}
            machine.host_label = flapped[machine.host_label]
        elif what == "naming":
            machine.naming = "exported" if machine.naming == "plain" else "plain"
        else:
            machine.instance += 1
        self.passes(3)

    @rule(node=st.sampled_from(HELD), scrapes=st.integers(1, 8))
    def an_exporter_is_silent(self, node: str, scrapes: int) -> None:
        self.world.machine(node).silent_until = self.world.now + 30 * scrapes
        self.passes(scrapes + 2)

    @rule(scrapes=st.integers(1, 8))
    def kube_state_is_silent(self, scrapes: int) -> None:
        self.world.kube_silent_until = self.world.now + 30 * scrapes
        self.passes(scrapes + 2)

    @rule(shard=st.integers(0, SHARDS - 1), scrapes=st.integers(2, 8))
    def a_shard_of_kube_state_is_silent(self, shard: int, scrapes: int) -> None:
        self.world.quiet[shard % self.world.shards] = self.world.now + 30 * scrapes
        self.passes(scrapes + 2)

    @rule(scrapes=st.integers(0, 4))
    def kube_state_restarts(self, scrapes: int) -> None:
        self.world.restarts += 1
        self.world.kube_silent_until = self.world.now + 30 * scrapes
        self.passes(scrapes + 2)

    @rule(node=st.sampled_from(HELD), scrapes=st.integers(2, 6))
    def a_node_object_vanishes(self, node: str, scrapes: int) -> None:
        self.world.machine(node).hidden_until = self.world.now + 30 * scrapes
        self.passes(scrapes + 2)

    @rule(scrapes=st.integers(1, 10), lost=st.sampled_from([0.0, 0.0, 0.2]))
    def time_passes(self, scrapes: int, lost: float) -> None:
        self.passes(scrapes, lost)

    # --- what happens to the samples -------------------------------------------------

    @rule(scrapes=st.integers(2, 8), chance=st.integers(0, 2**16))
    def some_samples_are_late(self, scrapes: int, chance: int) -> None:
        samples = self.world.pass_time(scrapes)
        times = sorted({s.at for s in samples})
        held = {at for i, at in enumerate(times) if (chance >> i) & 1}
        self.late += [s for s in samples if s.at in held]
        self.take([s for s in samples if s.at not in held])

    @precondition(lambda self: self.late)
    @rule()
    def late_samples_come(self) -> None:
        late, self.late = self.late, []
        self.take(late)

    @rule(n=st.integers(0, 99))
    def a_file_comes_again(self, n: int) -> None:
        before = said()
        imported([self.file(self.files[n % len(self.files)])])
        assert said() == before

    # --- what people change ----------------------------------------------------------

    @rule(rate=st.sampled_from(["1.50", "2.10", "3.33"]))
    def a_price_changes(self, rate: str) -> None:
        border = -(-int(self.world.now * 1000) // WINDOW_MS) * WINDOW_MS  # the next
        self.prices[to_instant(border).isoformat()] = rate
        self.configure()
        self.passes(2)

    @rule(team=st.sampled_from(["a", "b"]))
    def a_binding_changes(self, team: str) -> None:
        self.bindings.append(BINDING.format(team=team, at=self.instant()))
        self.configure()
        self.passes(2)

    # --- what happens to workers -----------------------------------------------------

    @rule(failpoint=st.sampled_from(NAMES), is_rare=st.integers(0, 3))
    def a_worker_is_killed(self, failpoint: str, is_rare: int) -> None:
        samples = self.world.pass_time(3)
        path = self.file(samples)
        if not is_rare:
            done = warm[0].run(*READ, path, failpoint=failpoint)
            assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        self.take(samples)

    @rule(is_rare=st.integers(0, 3))
    def two_workers_share_the_work(self, is_rare: int) -> None:
        samples = self.world.pass_time(4)
        if not is_rare:
            half = samples[len(samples) // 2].at
            parts = [
                self.file([s for s in samples if (s.at < half) == first])
                for first in (True, False)
            ]
            workers = [warm[0].start(*READ, part) for part in parts]
            for worker in workers:
                done = warm[0].wait(worker)
                assert done.returncode == 0, done.stderr
        self.take(samples)

    @rule()
    def a_late_claim_cannot_write(self) -> None:
        """I13: who was overtaken is refused."""
        cluster = self.cluster
        schedule.mark(cluster.pk, [self.whole()], "again", create=False)
        claimed = leases.claim(cluster.pk)
        assert claimed is not None
        schedule.mark(cluster.pk, claimed.windows, "late", create=False)
        outcomes = [WindowResult(w, 0, b"x", 0, 0, False, 1) for w in claimed.windows]
        with pytest.raises(WindowLeaseLostError):
            window_results.finish(claimed, outcomes)
        window_results.give_back(claimed)
        self.take([])

    # --- reading and checking --------------------------------------------------------

    def passes(self, scrapes: int, lost: float = 0) -> None:
        """Time passes, and its samples are read."""
        self.take(self.world.pass_time(scrapes, lost))

    def take(self, samples: Sequence[Sample]) -> None:
        """Read samples, bring all up to date and check all."""
        Living.steps += 1
        if samples:
            self.read += samples
            self.files.append(list(samples))
            imported([self.file(samples)])
        self.compute()
        self.check()

    def check(self) -> None:
        """The invariants."""
        book = oracle(self.read, known=self.known)
        before = said()
        # I2, I3, I9, I10, by the rules alone
        none_of(differences(book, before["holds"]))
        assert unfinished() == []
        call_command("verify", stdout=io.StringIO())  # I3, I5, I6, I9
        cluster = self.cluster
        every = list(self.whole().windows())
        schedule.mark(cluster.pk, every, "again", create=False)
        done = ingest_all(cluster)
        assert done.windows == len(every)
        assert done.rows_written == 0  # I1
        instants = [to_instant(w.start_ms) for w in every]
        mark_hours(cluster.pk, instants, "again")
        roll_up_dirty_hours(cluster.pk)
        assert said() == before  # I8
        self.check_witness()

    def check_witness(self) -> None:
        """I4: each of its samples counts in one window. I11: what it spent, once."""
        values = [s for s in self.read if s.labels.get("UUID") == "GPU-w"]
        count = len({s.at for s in values})
        [[used]] = ask(
            """
            SELECT sum(samples_used) FROM usage_window w
            JOIN accounting_gpu g ON g.id = w.gpu_id WHERE g.uuid = 'GPU-w'
            """
        )
        assert used == count
        [[energy]] = ask(
            """
            SELECT coalesce(sum(energy_mj), 0) FROM intensity_window w
            JOIN accounting_gpu g ON g.id = w.gpu_id WHERE g.uuid = 'GPU-w'
            """
        )
        assert energy >= 0
        if not self.late:
            assert energy <= self.world.spent + len(values)  # rounded up at most
            assert energy >= self.world.spent - self.world.lost_by_resets - len(values)

    def compute(self) -> None:
        """Bring what is due up to date, as a worker does."""
        ingest_all(self.cluster)
        roll_up_dirty_hours(self.cluster.pk)

    def configure(self) -> None:
        """Set up prices and bindings as a person does."""
        path = Path(self.folder.name) / "setup.yaml"
        newest = list(reversed(self.bindings))  # the first that matches counts
        bindings = ", ".join(newest)
        prices = ", ".join(
            PRICE.format(rate=rate, at=at) for at, rate in self.prices.items()
        )
        path.write_text(SETUP.format(bindings=bindings, prices=prices))
        run("configure", path)

    def file(self, samples: Sequence[Sample]) -> Path:
        """Samples as a file."""
        name = f"{time.monotonic_ns()}.om"
        return write(samples, Path(self.folder.name) / name)

    def instant(self) -> str:
        """Now, in the cluster's time."""
        return to_instant(int(self.world.now * 1000)).isoformat()

    def whole(self) -> Interval:
        """From the first to the last window of the ledger."""
        [[first, last]] = ask(
            "SELECT min(window_start), max(window_start) FROM accounting_ingestwindow"
        )
        return Interval(to_ms(first), to_ms(last) + WINDOW_MS)

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster, from its first samples on."""
        return Cluster.objects.get(name=CLUSTER)
