"""The setup file: models of its sections, which check every value before anything is applied."""

import re
from collections.abc import Collection
from fractions import Fraction
from typing import Annotated, Any, ClassVar
from zoneinfo import ZoneInfo

from babel.numbers import list_currencies
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)

from accounting.access.models.billing import DEFAULT_CURRENCY, DEFAULT_TIMEZONE
from accounting.access.models.teams import BindingKind
from accounting.access.reserved_names import (
    name_fault,
    other_name,
    other_slug,
    slug_fault,
)
from accounting.core.billing_calendar import time_zones
from accounting.core.written_text import glob_fault
from accounting.kit.reads.dimensions import LIFECYCLES
from accounting.metering.rules.inventory.label_names import label_name
from accounting.metering.rules.units.mig_profiles import fault_of, normal
from accounting.metering.rules.units.resources import is_counted, sanitised
from accounting.metering.sources.catalogue import normal_model
from accounting.setup.tasks.fields import (
    LONG_AGO,
    Border,
    Day,
    FileContext,
    Instant,
    Money,
    Note,
    Rate,
    Section,
    Text,
    existing,
    fault,
    must,
    new,
    refuse_second,
    text_of,
)
from accounting.setup.tasks.schema_budgets import BudgetSpec
from accounting.setup.tasks.schema_clusters import ClusterSpec
from accounting.setup.tasks.schema_journal import JournalSpec
from accounting.setup.tasks.yaml_lines import parse

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PERSON = re.compile(r"[\w.@+-]+")  # Django's rule for user names
_RESOURCE = re.compile(
    r"[a-z0-9.-]{1,253}/[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?", re.ASCII
)
_SHARE = re.compile(r"[0-9]{1,4}(?:/[0-9]{1,4}|\.[0-9]{1,6})?")
_PRICED = tuple(name for name in LIFECYCLES if name != "unknown")  # N26


Currency = Annotated[
    Text, must(list_currencies().__contains__, "is not an ISO 4217 currency, like EUR")
]
Zone = Annotated[
    Text,
    must(
        time_zones().__contains__,
        "is not an IANA time zone, like Europe/Berlin",
    ),
]


def _not_reserved_slug(slug: str) -> str:
    if found := slug_fault(slug):
        raise ValueError(f"{slug!r} {found}; use another, like {other_slug(slug)}")
    return slug


def _not_reserved_name(name: str) -> str:
    if found := name_fault(name):
        raise ValueError(f"{name!r} {found}; use another, like {other_name(name)}")
    return name


Slug = Annotated[
    Text,
    Field(max_length=63),
    must(
        _SLUG.fullmatch,
        "is not a valid slug: letters a to z, digits, dashes and _ only",
    ),
    AfterValidator(_not_reserved_slug),
    new("team"),
]
Person = Annotated[
    Text,
    Field(max_length=150),
    must(_PERSON.fullmatch, "is not a valid username: letters, digits and @.+-_"),
]
Lifecycle = Annotated[
    Note, must(("", *_PRICED).__contains__, f"is not known; use {', '.join(_PRICED)}")
]


class BillingSpec(Section):
    """Currency and time zone of bills."""

    currency: Currency = DEFAULT_CURRENCY
    timezone: Zone = DEFAULT_TIMEZONE


class TeamSpec(Section):
    """One team; without a name, its slug is used."""

    slug: Slug
    name: Annotated[Note, Field(max_length=200), AfterValidator(_not_reserved_name)] = (
        ""
    )
    department: Annotated[Note, Field(max_length=200)] = ""
    cost_centre: Annotated[Note, Field(max_length=100)] = ""
    leads: tuple[Person, ...] = ()


class BindingSpec(Section):
    """One binding rule: its kind, with the label and the glob to match."""

    namespace: Annotated[Text, Field(max_length=253)] | None = None
    namespace_label: Annotated[Text, Field(max_length=317)] | None = None
    pod_label: Annotated[Text, Field(max_length=317)] | None = None
    label_glob: Annotated[Note, Field(max_length=253)] = Field("*", alias="glob")
    team: Annotated[Text, existing("team", "add it under `teams`")]
    valid_from: Instant = LONG_AGO

    @property
    def kind(self) -> str:
        """The kind of the rule, from the key that is set."""
        return next(kind for kind in BindingKind.values if getattr(self, kind))

    @property
    def label(self) -> str:
        """The label of a rule for labels; "" for a namespace."""
        return self.namespace_label or self.pod_label or ""

    @property
    def glob(self) -> str:
        """The glob for the namespace, or for the value of the label."""
        return self.namespace or self.label_glob

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> "BindingSpec":
        kinds = self.model_fields_set & set(BindingKind.values)
        if len(kinds) != 1:
            message = f"give exactly one of {', '.join(BindingKind.values)}"
            raise fault(message, "team")
        if self.namespace and "label_glob" in self.model_fields_set:
            message = "'glob' is for labels; a namespace rule is a glob itself"
            raise fault(message, "glob")
        is_namespace = self.kind == BindingKind.NAMESPACE
        if found := glob_fault(self.glob, is_namespace=is_namespace):
            message = f"{self.glob!r} {found}"
            raise fault(message, "namespace" if is_namespace else "glob")
        key = ("rule", self.kind, self.label, self.glob, self.valid_from)
        message = f"duplicate rule for {self.label or self.glob!r} from that time"
        refuse_second(info, key, message, self.kind)
        return self


class PriceSpec(Section):
    """A rate, a cost or both; `source` is the contract or list that it comes from."""

    model: Annotated[Text, Field(max_length=200), AfterValidator(normal_model)]
    profile: Annotated[Note, Field(max_length=64), AfterValidator(normal)] = ""
    lifecycle: Lifecycle = ""
    cluster: Annotated[Note, existing("cluster", "add it under `clusters`")] = ""
    tier: Annotated[Note, Field(max_length=253)] = ""
    rate: Money | None = Field(None, alias="rate_per_gpu_hour")
    cost: Money | None = Field(None, alias="cost_per_gpu_hour")
    currency: Currency | None = None  # of bills, without one
    valid_from: Border = LONG_AGO
    source: Annotated[Note, Field(max_length=500)] = ""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The key of the price: the usage it applies to."""
        return self.model, self.profile, self.lifecycle, self.cluster, self.tier

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> "PriceSpec":
        if self.profile and (found := fault_of(self.profile, self.model)):
            raise fault(found, "profile")
        if self.rate is None and self.cost is None:
            raise fault("give a rate, a cost or both", "model")
        if self.cost is not None and (self.profile or self.tier):
            message = "a cost is of whole GPUs: it has no profile and no tier"
            raise fault(message, "cost_per_gpu_hour")
        message = f"duplicate price of {self.model!r} from that time"
        for kind, amount in (("rate", self.rate), ("cost", self.cost)):
            if amount is not None:
                refuse_second(info, (kind, self.key, self.valid_from), message, "model")
        return self


def _spellings(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(map(label_name, names))) < len(names):
        raise ValueError("duplicate label, as metrics spell it")
    return names


class ConversionSpec(Section):
    """The rate of one day: units of `to` for one of `from`."""

    from_currency: Currency = Field(alias="from")
    to_currency: Currency = Field(alias="to")
    day: Day
    rate: Rate

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> "ConversionSpec":
        if self.from_currency == self.to_currency:
            raise fault("a currency needs no conversion into itself", "to")
        key = ("conversion", self.from_currency, self.to_currency, self.day)
        refuse_second(info, key, f"duplicate conversion on {self.day}", "day")
        return self


Spellings = Annotated[
    tuple[Annotated[Text, Field(max_length=317)], ...],
    BeforeValidator(_spellings),
    AfterValidator(_different),
]


class LabelsSpec(Section):
    """The labels for a workload type, a lifecycle, an owner or a family, by LabelPurpose."""

    workload_type: Spellings | None = None
    lifecycle: Spellings | None = None
    owner: Spellings | None = None
    family: Spellings | None = None


def _spelled_once(name: str, info: ValidationInfo) -> str:
    message = "kube-state spells it like another resource of this file"
    refuse_second(info, ("resource", sanitised(name)), message)
    return name


Resource = Annotated[
    str,
    must(_RESOURCE.fullmatch, "is not a resource name, like example.com/gpu"),
    must(lambda name: not is_counted(name, ()), "is known already, with its unit"),
    AfterValidator(_spelled_once),
]


def _share(value: object) -> Fraction:
    text = text_of(value)
    try:
        share = Fraction(text) if _SHARE.fullmatch(text) else Fraction(0)
    except ZeroDivisionError:
        share = Fraction(0)
    if not 0 < share <= 1:
        raise ValueError("not a share of one GPU above 0 to 1, like 1, 1/2 or 0.5")
    return share


Share = Annotated[Fraction, PlainValidator(_share)]


class Configuration(Section):
    """A whole setup file. Sections that the file does not contain are not changed."""

    keeps_empty: ClassVar = frozenset({"bindings", "prices", "resources"})

    billing: BillingSpec | None = None
    clusters: tuple[ClusterSpec, ...] = ()
    teams: tuple[TeamSpec, ...] = ()
    bindings: tuple[BindingSpec, ...] | None = None
    prices: tuple[PriceSpec, ...] | None = None
    conversions: tuple[ConversionSpec, ...] = ()
    budgets: tuple[BudgetSpec, ...] = ()
    labels: LabelsSpec = LabelsSpec()
    journal: JournalSpec | None = None
    resources: dict[Resource, Share] | None = None  # by name: the share of one GPU

    @property
    def currency(self) -> str | None:
        """The currency of bills; None does not change it."""
        return self.billing.currency if self.billing else None

    @property
    def timezone(self) -> str | None:
        """The time zone of bills; None does not change it."""
        return self.billing.timezone if self.billing else None

    @property
    def spellings(self) -> dict[str, tuple[str, ...]]:
        """The labels of each LabelPurpose in the file."""
        return {purpose: names for purpose, names in self.labels if names is not None}

    @field_validator("bindings", "prices", "resources", mode="before")
    @classmethod
    def _is_given(cls, value: object, info: ValidationInfo) -> object:
        if value is None:
            nothing = "{}" if info.field_name == "resources" else "[]"
            message = (
                f"empty: write {nothing} to have none, or leave it out to keep all"
            )
            raise ValueError(message)
        return value


def read_configuration(
    text: str,
    *,
    known_teams: Collection[str] = (),
    known_clusters: Collection[str] = (),
    known_departments: Collection[str] = (),
    timezone: str = DEFAULT_TIMEZONE,
) -> Configuration:
    """A validated configuration from YAML.

    Args:
        text: the file.
        known_teams: slugs of existing teams, which bindings may name.
        known_clusters: existing clusters, which prices may name.
        known_departments: departments of existing teams, which budgets may name.
        timezone: of dates, if the file sets none.

    Raises:
        DocumentError: all faults of the file, each with its line.
    """
    document = parse(text)
    billing = document.values.get("billing")
    if isinstance(billing, dict):
        timezone = billing.get("timezone") or DEFAULT_TIMEZONE
    names = {
        "team": _named(document.values, "teams", "slug") | {*known_teams},
        "cluster": _named(document.values, "clusters", "name") | {*known_clusters},
        "department": (
            _named(document.values, "teams", "department") | {*known_departments}
        )
        - {"", "None"},
    }
    zone = ZoneInfo(timezone if timezone in time_zones() else DEFAULT_TIMEZONE)
    return document.read(Configuration, FileContext(zone, names))


def _named(values: dict[str, Any], section: str, key: str) -> frozenset[str]:
    """The names of the items of a section, valid or not."""
    items = values.get(section)
    found = items if isinstance(items, list) else []
    return frozenset(str(one.get(key)) for one in found if isinstance(one, dict))
