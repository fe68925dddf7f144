"""A set-up as configured: checked values, before anything is brought about."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source of a cluster, as configured."""

    name: str
    kind: str
    settings: dict[str, object]
    interval_s: int | None
    scales: dict[str, str]


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster, as configured; sources None leaves those that are there."""

    name: str
    sources: tuple[SourceSpec, ...]
    kubernetes: dict[str, object]
    share: str | None = None  # the policy; None leaves what is set
    sets_retired: bool = False  # False leaves what is set
    retired: datetime | None = None  # None: it goes on
    kube_state_jobs: tuple[str, ...] | None = None  # accepted; None leaves what is set


@dataclass(frozen=True, slots=True)
class TeamSpec:
    """One team, as configured."""

    slug: str
    name: str
    department: str
    cost_centre: str
    leads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BindingSpec:
    """One binding rule, as configured."""

    kind: str
    label: str
    glob: str
    team: str
    valid_from: datetime


@dataclass(frozen=True, slots=True)
class PriceSpec:
    """One price, as configured; `source` is the contract or list that it comes from."""

    model: str
    profile: str
    lifecycle: str
    cluster: str
    tier: str
    rate: Decimal
    cost: Decimal | None
    valid_from: datetime
    source: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What the price is for."""
        return self.model, self.profile, self.lifecycle, self.cluster, self.tier


@dataclass(frozen=True, slots=True)
class Configuration:
    """A whole set-up. Sections that the file leaves out are None: they stay as they are."""

    currency: str | None = None
    timezone: str | None = None
    clusters: tuple[ClusterSpec, ...] = ()
    teams: tuple[TeamSpec, ...] = ()
    bindings: tuple[BindingSpec, ...] | None = None
    prices: tuple[PriceSpec, ...] | None = None
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    resources: dict[str, Fraction] | None = None  # name -> share of one GPU of a unit
