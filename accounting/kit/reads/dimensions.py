"""The registry of dimensions: properties by which reports can be grouped and filtered.

Everything else derives from an entry: the values of `by` and the filters of REST, commands and
pages; the joins and SQL of a report; the fields of its rows in JSON, CSV and OpenAPI; labels,
chips and menus of pages. To add a dimension, add an entry to DIMENSIONS. Only a dimension that
rollups do not store yet needs more: a column there (`prices/sql/charge_sql`, `usage/tasks/rollup`).

SQL uses the table names of `relation`: `u` is the rollup or the facts, the others are joined.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, Flag, auto

from accounting.core.charge_lines import FIELDS

LIFECYCLES = ("spot", "on-demand", "reserved", "unknown")


class StoredIn(Enum):
    """The coarsest table that can answer a dimension."""

    DAYS = auto()  # rollups by day, hence by hour too
    GPU_DAYS = (
        auto()
    )  # rollups by GPU and node: days, hours, facts at the ends of a range
    HOURS = auto()  # rollups by hour only
    FACTS = auto()  # five-minute facts only, while they are kept (rules.md N32)


class KeyType(Enum):
    """The JSON type of a key's values; all are strings."""

    TEXT = auto()
    DATE = auto()  # `2026-10-01`
    INSTANT = auto()  # `2026-10-01T10:00:00Z`


class PageUse(Flag):
    """How pages use a dimension."""

    FILTER = auto()  # keep it in the address and show it as a chip
    MENU = auto()  # offer its values in the filter menu; for dimensions with few values
    SPLIT = auto()  # split the range by it in a small table


NO_PAGE = PageUse(0)


@dataclass(frozen=True, slots=True)
class DimensionKey:
    """A field that a dimension adds to each row.

    Attributes:
        sql: its value, over the tables that the dimension joins.
        can_be_empty: its value may be the empty text.
    """

    name: str
    sql: str
    type: KeyType = KeyType.TEXT
    can_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension.

    Attributes:
        name: in `by`, as a filter, as an option of commands and in addresses of pages.
        label: on pages.
        keys: the fields that it adds to a row; one of them has its name.
        joins: the tables that its SQL needs in addition to `u`.
        stored: the coarsest table that can answer it.
        column: of the facts, to group by, where hours and days do not have it.
        is_filter: rows can be restricted to some of its values.
        has_unheld: unallocated time has a value too, so the ledger can be split by it.
        values: all possible values, if they are fixed; empty if any text is possible.
        page: how pages use it.
        empty_label: on pages, for the empty value.
    """

    name: str
    label: str
    keys: tuple[DimensionKey, ...]
    joins: tuple[str, ...] = ()
    stored: StoredIn = StoredIn.DAYS
    column: str = ""
    is_filter: bool = True
    has_unheld: bool = False
    values: tuple[str, ...] = ()
    page: PageUse = NO_PAGE
    empty_label: str = ""

    @property
    def sql(self) -> str:
        """Its value, over `u` and `joins`."""
        return next(key.sql for key in self.keys if key.name == self.name)

    @property
    def is_of_lines(self) -> bool:
        """True if a booked line has it: GPUs, nodes and pods are not in lines (money.md M9)."""
        return all(key.name in _OF_LINES for key in self.keys)


_OF_LINES = frozenset({*FIELDS, "family", "day", "week", "month", "hour"})

_CLUSTER = "LEFT JOIN accounting_cluster cl ON cl.id = u.cluster_id"
_TEAM = "LEFT JOIN accounting_team t ON t.id = u.team_id"
_NAMESPACE = "LEFT JOIN accounting_namespace n ON n.id = u.namespace_id"
_WORKLOAD = "LEFT JOIN accounting_workload wl ON wl.id = u.workload_id"
_LOOK_UP = """LEFT JOIN LATERAL (SELECT kind, name FROM accounting_workload
    WHERE id = u.workload_id OFFSET 0) wl ON true"""
_NODE = "LEFT JOIN accounting_node nd ON nd.id = u.node_id"
_GPU = "LEFT JOIN accounting_gpu gp ON gp.id = u.gpu_id"
_POD = "LEFT JOIN accounting_pod po ON po.id = u.pod_id"

DIMENSIONS = (
    Dimension(
        name="cluster",
        label="Cluster",
        keys=(DimensionKey("cluster", "cl.name"),),
        joins=(_CLUSTER,),
        has_unheld=True,
    ),
    Dimension(
        name="team",
        label="Team",
        keys=(DimensionKey("team", "coalesce(t.slug, 'unmapped')"),),
        joins=(_TEAM,),
        page=PageUse.FILTER | PageUse.MENU,
    ),
    Dimension(
        name="namespace",
        label="Namespace",
        keys=(DimensionKey("namespace", "n.name"),),
        joins=(_NAMESPACE,),
        page=PageUse.FILTER | PageUse.SPLIT,
        empty_label="No namespace",
    ),
    Dimension(
        name="workload",
        label="Workload",
        keys=(
            DimensionKey("namespace", "n.name"),
            DimensionKey("workload", "wl.name"),
            DimensionKey("workload_kind", "wl.kind"),
        ),
        joins=(_NAMESPACE, _WORKLOAD),
    ),
    Dimension(
        name="family",
        label="Family",
        keys=(
            DimensionKey("namespace", "n.name"),
            DimensionKey("family", "u.family"),
        ),
        joins=(_NAMESPACE,),
    ),
    Dimension(
        name="workload_type",
        label="Workload type",
        keys=(DimensionKey("workload_type", "u.workload_type", can_be_empty=True),),
    ),
    Dimension(
        name="model",
        label="GPU model",
        keys=(DimensionKey("model", "u.model", can_be_empty=True),),
        has_unheld=True,
        page=PageUse.FILTER | PageUse.MENU | PageUse.SPLIT,
        empty_label="Unknown model",
    ),
    Dimension(
        name="lifecycle",
        label="Lifecycle",
        keys=(DimensionKey("lifecycle", "u.lifecycle"),),
        has_unheld=True,
        values=LIFECYCLES,
        page=PageUse.FILTER | PageUse.MENU | PageUse.SPLIT,
        empty_label="unknown",
    ),
    Dimension(
        name="tier",
        label="Tier",
        keys=(DimensionKey("tier", "u.tier", can_be_empty=True),),
        page=PageUse.FILTER | PageUse.MENU | PageUse.SPLIT,
        empty_label="No tier",
    ),
    Dimension(
        name="node",
        label="Node",
        keys=(DimensionKey("node", "nd.name"),),
        joins=(_NODE,),
        stored=StoredIn.GPU_DAYS,
        column="node_id",
        has_unheld=True,
    ),
    Dimension(
        name="gpu",
        label="GPU",
        keys=(DimensionKey("gpu", "gp.uuid"),),
        joins=(_GPU,),
        stored=StoredIn.GPU_DAYS,
        column="gpu_id",
        has_unheld=True,
    ),
    Dimension(
        name="pod",
        label="Pod",
        keys=(
            DimensionKey("namespace", "n.name"),
            DimensionKey("pod", "po.name"),
            DimensionKey("uid", "po.uid"),
        ),
        joins=(_NAMESPACE, _POD),
        stored=StoredIn.FACTS,
        column="pod_id",
    ),
    Dimension(
        name="day",
        label="Day",
        keys=(
            DimensionKey("day", "to_char(u.billing_on, 'YYYY-MM-DD')", KeyType.DATE),
        ),
        is_filter=False,
        has_unheld=True,
    ),
    Dimension(
        name="week",
        label="Week",
        keys=(
            DimensionKey(
                "week",
                "to_char(date_trunc('week', u.billing_on::timestamp), 'YYYY-MM-DD')",
                KeyType.DATE,
            ),
        ),
        is_filter=False,
        has_unheld=True,
    ),
    Dimension(
        name="month",
        label="Month",
        keys=(DimensionKey("month", "to_char(u.billing_on, 'YYYY-MM')"),),
        is_filter=False,
        has_unheld=True,
    ),
    Dimension(
        name="hour",
        label="Hour (UTC)",
        keys=(
            DimensionKey(
                "hour",
                "to_char(u.hour_start AT TIME ZONE 'UTC', "
                """'YYYY-MM-DD"T"HH24:MI:SS"Z"')""",
                KeyType.INSTANT,
            ),
        ),
        stored=StoredIn.HOURS,
        is_filter=False,
        has_unheld=True,
    ),
)
BY_NAME = {one.name: one for one in DIMENSIONS}
USAGE_DIMENSIONS = tuple(BY_NAME)
LEDGER_DIMENSIONS = tuple(one.name for one in DIMENSIONS if one.has_unheld)
FILTERS = tuple(one.name for one in DIMENSIONS if one.is_filter)


def named(names: Iterable[str]) -> tuple[Dimension, ...]:
    """The dimensions with some names, each once, in their order."""
    return tuple(BY_NAME[name] for name in dict.fromkeys(names))


def joins_of(by: Iterable[Dimension]) -> tuple[str, ...]:
    """The tables that some dimensions need in addition to `u`, each once."""
    return tuple(dict.fromkeys(join for one in by for join in one.joins))


def lookups_of(by: Iterable[Dimension]) -> tuple[str, ...]:
    """The same for rows that are summed: workloads are looked up, because most are not needed."""
    return tuple(_LOOK_UP if join is _WORKLOAD else join for join in joins_of(by))


def keys_of(by: Sequence[str]) -> tuple[DimensionKey, ...]:
    """The keys of rows by some dimensions, in their order, each once."""
    found = {key.name: key for one in named(by) for key in one.keys}
    return tuple(found.values())


def of_pages(use: PageUse) -> tuple[Dimension, ...]:
    """The dimensions with this use on pages; those of the menu come first."""
    found = (one for one in DIMENSIONS if use in one.page)
    return tuple(sorted(found, key=lambda one: PageUse.MENU not in one.page))
