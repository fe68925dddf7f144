"""The file of `manage.py simulate`: a trace to replay, or what-ifs over recorded weeks.

cluster: north
weeks: 4
policy: BestFit                # optional: of what happened; else the nearest one
rate: 2.50                     # optional: of an installed GPU-hour
scenarios:
  - name: 16 more
    gpus: [{model: NVIDIA-A100-SXM4-80GB, change: 16}]
    policy: FGD
    quotas: {search: 48, vision: none}
    tiers: {batch: 100}
    sharing: [{workload_type: notebook, gpus: 0.25}]
    mig: [{model: NVIDIA-A100-SXM4-80GB, nodes: 2, profile: 1g.10gb, team: search}]
    spot: {share: 0.5, preempted_per_day: 0.2, checkpoint_minutes: 30, rate: 1.00}
    any_model: true

or

trace:
  nodes: openb_node_list_all_node.csv.gz
  pods: openb_pod_list_default.csv.gz
  policies: [FGD, BestFit]
  seeds: 10
  loads: [50, 90, 100, 130]
"""

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from accounting.setup.tasks.fields import FileContext, Section, Text, existing
from accounting.setup.tasks.yaml_lines import Document, parse
from scheduler_view.what_if.rules.policies.catalogue import POLICIES
from scheduler_view.what_if.rules.request import MILLI
from scheduler_view.what_if.rules.what_ifs.mig_layout import MigLayout
from scheduler_view.what_if.rules.what_ifs.scenario import GpuChange, Scenario, Sharing
from scheduler_view.what_if.rules.what_ifs.spot_share import SpotShare

_Gpus = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=3)]


def _known_policy(name: str) -> str:
    if name not in POLICIES:
        raise ValueError(f"{name!r} is not a policy; use one of: {', '.join(POLICIES)}")
    return name


class TraceSection(Section):
    """A trace of nodes and pods, each a CSV file, also compressed by gzip."""

    nodes: Text
    pods: Text
    policies: Annotated[tuple[Text, ...], Field(min_length=1)] = tuple(POLICIES)
    seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    loads: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...], Field(min_length=1)
    ] = (50, 90, 100, 130)

    @field_validator("policies")
    @classmethod
    def _are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_known_policy(name) for name in names)


class _GpuSection(Section):
    model: Text
    resource: Text = "nvidia.com/gpu"
    change: Annotated[int, Field(ge=-1_000_000, le=1_000_000)]


class _Sharing(Section):
    team: Text | None = None
    workload_type: Text | None = None
    gpus: Annotated[Decimal, Field(gt=0, lt=1, decimal_places=3)]


class _Mig(Section):
    model: Text
    nodes: Annotated[int, Field(ge=1, le=100_000)]
    profile: Text
    team: Text | None = None
    workload_type: Text | None = None


class _Spot(Section):
    share: Annotated[Decimal, Field(gt=0, le=1, decimal_places=4)]
    preempted_per_day: Annotated[Decimal, Field(ge=0, le=10_000, decimal_places=6)]
    checkpoint_minutes: Annotated[int, Field(ge=1, le=100_000)] | None = None
    rate: Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)] | None = None

    def share_of_work(self) -> SpotShare:
        """As the domain has it."""
        minutes = self.checkpoint_minutes
        return SpotShare(
            Fraction(self.share),
            self.preempted_per_day,
            None if minutes is None else minutes * 60_000,
            self.rate,
        )


class _Scenario(Section):
    name: Annotated[Text, Field(max_length=100)]
    policy: Text | None = None
    gpus: tuple[_GpuSection, ...] = ()
    quotas: dict[str, _Gpus | Literal["none"]] = Field(default_factory=dict)
    tiers: dict[str, int] = Field(default_factory=dict)
    sharing: tuple[_Sharing, ...] = ()
    mig: tuple[_Mig, ...] = ()
    any_model: bool = False
    spot: _Spot | None = None

    @field_validator("policy")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        return None if name is None else _known_policy(name)

    def scenario(self) -> Scenario:
        """As the domain has it."""
        return Scenario(
            self.name,
            self.policy or "",
            tuple(GpuChange(one.model, one.change, one.resource) for one in self.gpus),
            {
                team: None if isinstance(limit, str) else int(limit * MILLI)
                for team, limit in self.quotas.items()
            },
            dict(self.tiers),
            tuple(
                Sharing(int(one.gpus * MILLI), one.team or "", one.workload_type or "")
                for one in self.sharing
            ),
            tuple(
                MigLayout(
                    *(one.model, one.nodes, one.profile),
                    *(one.team or "", one.workload_type or ""),
                )
                for one in self.mig
            ),
            self.any_model,
            None if self.spot is None else self.spot.share_of_work(),
        )


class WeeksFile(Section):
    """What-ifs over the recorded weeks of a cluster."""

    cluster: Annotated[Text, existing("cluster", "known: {known}")]
    weeks: Annotated[int, Field(ge=1, le=26)] = 4
    policy: Text | None = None
    rate: Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)] | None = None
    scenarios: Annotated[tuple[_Scenario, ...], Field(min_length=1, max_length=50)]

    @field_validator("policy")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        return None if name is None else _known_policy(name)


class TraceFile(Section):
    """A trace to replay."""

    trace: TraceSection


def read_simulation(
    text: str, clusters: Callable[[], Collection[str]]
) -> WeeksFile | TraceFile:
    """The file; one with `trace` is a trace.

    Args:
        text: YAML.
        clusters: reads the existing names; a trace needs none.

    Raises:
        DocumentError: all faults of the file, each with its line.
    """
    document = parse(text)
    if "trace" in document.values:
        return document.read(TraceFile, FileContext(ZoneInfo("UTC"), {}))
    known = FileContext(ZoneInfo("UTC"), {"cluster": clusters()})
    return document.read(WeeksFile, known)


def read_request(values: Mapping[str, Any], clusters: Collection[str]) -> WeeksFile:
    """The request of a job: the same values as in a file.

    Raises:
        DocumentError: what is wrong with them.
    """
    known = FileContext(ZoneInfo("UTC"), {"cluster": clusters})
    return Document(dict(values), {}).read(WeeksFile, known)
