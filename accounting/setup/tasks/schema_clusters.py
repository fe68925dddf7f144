"""Clusters of the setup file: their sources, and the access to their Kubernetes API."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from accounting.setup.tasks.fields import (
    Address,
    Instant,
    Number,
    Section,
    Text,
    Texts,
    fault,
    new,
)

Seconds300 = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False), Number]
Seconds60 = Annotated[float, Field(gt=0, le=60, allow_inf_nan=False), Number]
_WAYS = (
    {"in_cluster"},
    {"kubeconfig", "context"},
    {"server", "token_file", "ca_file"},
)
_FORMS = (
    "write {in_cluster: true}, {kubeconfig: PATH, context: NAME} or "
    "{server: https://..., token_file: PATH, ca_file: PATH}"
)
_OWN = ("given_name", "kind", "interval_s", "scales")  # columns; the rest is `settings`


class AccessSpec(Section):
    """How the Kubernetes API of a cluster is reached, in one of three forms.

    The paths are not checked here: only workers have the files
    (`scheduler_view.clusters.client.access` reads the stored value).
    """

    in_cluster: Literal[True] | None = None
    kubeconfig: Text | None = None
    context: Text | None = None
    server: Address | None = None
    token_file: Text | None = None
    ca_file: Text | None = None

    @model_validator(mode="after")
    def _check(self) -> "AccessSpec":
        given = self.model_fields_set
        if not given or not any(given <= way for way in _WAYS):
            raise fault(f"not a valid access: {_FORMS}")
        if not given & {"in_cluster", "kubeconfig", "server"}:
            raise fault(f"names no server: {_FORMS}")
        return self


class KubernetesSpec(Section):
    """The reader and the pusher of a cluster's objects, and their limits."""

    reader: AccessSpec | None = None
    pusher: AccessSpec | None = None
    timeout_s: Seconds60 | None = None
    second_approver_above: Annotated[float, Field(ge=0), Number] | None = None  # GPUs


class TargetSpec(Section):
    """Exporters of one scrape job."""

    job: Text
    urls: tuple[Address, ...] = ()


class SourceSpec(Section):
    """One source of a cluster; without a name, its kind is used."""

    kind: Literal["prometheus", "scrape", "openmetrics"]
    given_name: Annotated[Text, Field(max_length=63)] | None = Field(None, alias="name")
    interval_s: Annotated[int, Field(ge=1, le=300), Number] | None = Field(
        None, alias="interval"
    )
    scales: dict[str, Literal["ratio", "percent"]] = Field({})
    jobs: tuple[Text, ...] | None = None
    url: Address | None = None
    targets: tuple[TargetSpec, ...] = ()
    headers: Texts | None = None
    matchers: Texts | None = None
    parameters: Texts | None = None
    bearer_token_file: Text | None = None
    username: Text | None = None
    password_file: Text | None = None
    ca_file: Text | None = None
    timeout_s: Seconds300 | None = None

    @property
    def name(self) -> str:
        """Its name in its cluster."""
        return self.given_name or self.kind

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of its kind, as stored."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={*_OWN})

    @model_validator(mode="after")
    def _check(self) -> "SourceSpec":
        if self.jobs == ():
            message = "must list the scrape jobs that count; leave it out for all"
            raise fault(message, "jobs")
        if self.kind == "prometheus" and self.url is None:
            raise fault("missing", "url")
        if self.kind == "scrape" and not self.targets:
            raise fault("a scrape source needs `targets`", "targets")
        return self


class ClusterSpec(Section):
    """One cluster. Keys that the file does not contain are not changed."""

    keeps_empty: ClassVar = frozenset({"retired", "billing_account", "kube_state_jobs"})

    name: Annotated[Text, Field(max_length=63), new("cluster")]
    sources: tuple[SourceSpec, ...] = ()
    access: KubernetesSpec = Field(KubernetesSpec(), alias="kubernetes")
    share: Literal["compute", "memory", "dominant"] | None = None
    retired: Instant | None = None  # empty: it is in use
    billing_account: Annotated[Text, Field(max_length=253)] | None = None
    kube_state_jobs: (
        Annotated[tuple[Text, ...], BeforeValidator(lambda jobs: jobs or ())] | None
    ) = None  # accepted; empty accepts none

    @property
    def kubernetes(self) -> dict[str, Any]:
        """Its access as stored; empty if not configured."""
        return self.access.model_dump(mode="json", exclude_unset=True)

    @property
    def sets_billing_account(self) -> bool:
        """False if the file does not change it; empty removes it."""
        return "billing_account" in self.model_fields_set

    @property
    def sets_retired(self) -> bool:
        """False if the file does not change it."""
        return "retired" in self.model_fields_set

    @model_validator(mode="after")
    def _sources_once(self) -> "ClusterSpec":
        names: set[str] = set()
        for i, source in enumerate(self.sources):
            if source.name in names:
                message = f"duplicate source {source.name!r}"
                raise fault(message, "sources", i, "name")
            names.add(source.name)
        return self
