"""Who shares the simulated cluster: namespaces, people, services and jobs."""

from dataclasses import dataclass

DEPARTMENTS = {  # department by namespace; demo.yaml has the payers
    "lm-train": "research",
    "lm-lab": "research",
    "vision-train": "research",
    "vision-lab": "research",
    "speech": "research",
    "search-prod": "product",
    "search-lab": "product",
    "recsys-prod": "product",
    "recsys-lab": "product",
    "fraud": "finance",
    "robotics-sim": "engineering",
    "forecast": "operations",
}
UNMAPPED = "hackathon"  # a namespace without a team
NAMESPACES = {**DEPARTMENTS, UNMAPPED: ""}


@dataclass(frozen=True, slots=True)
class Employee:
    """A person who works in a notebook."""

    name: str
    namespace: str
    whole_gpu: str  # the pool used before the change
    fitting: str  # the pool that fits the work


def _people(namespace: str, whole: str, fitting: str, names: str) -> list[Employee]:
    return [Employee(name, namespace, whole, fitting) for name in names.split()]


PEOPLE = (
    *_people(
        "lm-lab", "a100-80", "l4-shared", "amara bjorn chloe davi elif farid grace"
    ),
    *_people(
        "vision-lab",
        "a100-80",
        "a100-80-mig/1g.10gb",
        "hana ivo jonas kaya leila mateo nina",
    ),
    *_people("speech", "a100-80", "l4-shared", "oskar priya quentin rosa stefan"),
    *_people("search-lab", "a100-80", "t4", "tala umut vera wim"),
    *_people("recsys-lab", "a100-80", "t4", "xenia yusuf zoe anton"),
    *_people("fraud", "a100-40", "t4", "bianca carlos dora"),
    *_people("robotics-sim", "a100-40", "a10g", "emil fatma george helga"),
    *_people("forecast", "a100-40", "a100-40-mig/1g.5gb", "ines jakub katja lars"),
    *_people(UNMAPPED, "a6000", "a6000", "maja"),
)


@dataclass(frozen=True, slots=True)
class Service:
    """An inference service: fixed and oversized at first, then scaled by its load.

    Attributes:
        before: pool and number of replicas, with one GPU each, before the change.
        after: pool and maximum number of replicas after it.
        load: utilization of one of the `before` replicas in the busiest hour.
    """

    name: str
    namespace: str
    before: tuple[str, int]
    after: tuple[str, int]
    load: float


SERVICES = (
    Service("query-encoder", "search-prod", ("a100-40", 14), ("l4", 13), 0.36),
    Service("ranker", "search-prod", ("l4", 16), ("l4", 13), 0.34),
    Service("item-embedder", "recsys-prod", ("a10g", 14), ("a10g", 11), 0.38),
    Service("feed-ranker", "recsys-prod", ("l4", 12), ("l4", 10), 0.36),
    Service("transcriber", "speech", ("a10g", 10), ("a10g", 9), 0.42),
    Service("chat-gateway", "lm-train", ("a100-40", 12), ("a100-40", 12), 0.44),
    Service("card-scoring", "fraud", ("t4", 10), ("t4", 8), 0.32),
    Service("visual-search", "vision-lab", ("t4", 8), ("a100-80-mig/2g.20gb", 8), 0.36),
)


@dataclass(frozen=True, slots=True)
class Trainer:
    """The training jobs of a namespace: number, size, duration and pools.

    Attributes:
        before, after: jobs on a workday.
        sizes: GPUs of a job, repeated by probability.
        hours: median length of a run.
        pools_before, pools_after: its pools, the preferred one first.
    """

    namespace: str
    project: str
    before: float
    after: float
    sizes: tuple[int, ...]
    hours: float
    pools_before: tuple[str, ...]
    pools_after: tuple[str, ...]


_AMD = ("mi300x",)
_A100 = ("a100-80",)
_A100_THIRDS = ("a100-80-mig/3g.40gb",)
_A100_40_PARTS = ("a100-40-mig/1g.5gb",)
_ANY_A100 = ("a100-80", "a100-40")
_A100_SPOT = ("a100-80-spot", "a100-80")
_A100_40_SPOT = ("a100-40-spot", "a100-40", "a100-80-spot")
TRAINERS = (
    Trainer("lm-train", "pretrain", 2.5, 0, (8,), 26, ("h100",), ("h100",)),
    Trainer("lm-train", "port-rocm", 1.2, 1.8, (4, 4, 8), 14, _AMD, _AMD),
    Trainer("lm-train", "finetune", 13, 19, (1, 1, 1, 2, 2, 4), 8, _A100, _A100_SPOT),
    Trainer(
        "vision-train", "detector", 12, 18, (1, 1, 1, 2, 2, 4), 8, _A100, _A100_SPOT
    ),
    Trainer(
        "vision-train", "segmenter", 7, 11, (1, 2, 2, 4), 6, _ANY_A100, _A100_40_SPOT
    ),
    Trainer("speech", "acoustic", 7, 12, (1, 2, 2), 8, _ANY_A100, _A100_SPOT),
    Trainer("search-lab", "reranker", 7, 12, (1, 1, 2), 5, _ANY_A100, _A100_40_SPOT),
    Trainer("search-lab", "distiller", 0, 9, (1,), 4, _ANY_A100, _A100_THIRDS),
    Trainer("recsys-lab", "two-tower", 7, 12, (1, 2), 5, _ANY_A100, _A100_40_SPOT),
    Trainer("forecast", "demand", 5, 8, (1,), 3, ("a100-40",), _A100_40_PARTS),
)


@dataclass(frozen=True, slots=True)
class Nightly:
    """A CronJob: pods of one GPU each, every night at a local hour."""

    name: str
    namespace: str
    hour: int
    pods: int
    minutes: float
    before: tuple[str, ...]
    after: tuple[str, ...]


NIGHTLIES = (
    Nightly(
        "simulate-fleet", "robotics-sim", 20, 8, 320, ("a10g",), ("a10g-spot", "a10g")
    ),
    Nightly("rebuild-index", "search-prod", 1, 8, 170, ("l4",), ("l4-spot", "l4")),
    Nightly("embed-catalogue", "recsys-prod", 2, 8, 200, ("l4",), ("l4-spot", "l4")),
    Nightly("score-book", "fraud", 3, 8, 100, ("t4",), ("t4",)),
    Nightly("forecast-stores", "forecast", 4, 8, 130, ("t4",), ("a100-40-mig/1g.5gb",)),
)
WHOLE_GPU = "nvidia.com/gpu"
QUOTAS = {  # limit of a namespace after the change, by resource
    "lm-train": {WHOLE_GPU: 84, "amd.com/gpu": 16},
    "lm-lab": {WHOLE_GPU: 8},
    "vision-train": {WHOLE_GPU: 72},
    "vision-lab": {
        WHOLE_GPU: 5,
        "nvidia.com/mig-1g.10gb": 16,
        "nvidia.com/mig-2g.20gb": 8,
    },
    "speech": {WHOLE_GPU: 32},
    "search-prod": {WHOLE_GPU: 34},
    "search-lab": {WHOLE_GPU: 20, "nvidia.com/mig-3g.40gb": 6},
    "recsys-prod": {WHOLE_GPU: 32},
    "recsys-lab": {WHOLE_GPU: 16},
    "fraud": {WHOLE_GPU: 18},
    "robotics-sim": {WHOLE_GPU: 24},
    "forecast": {WHOLE_GPU: 32},
    UNMAPPED: {WHOLE_GPU: 4},
}
TIERS = {  # value of the PriorityClass by tier, after the change
    "interactive": 10_000,
    "serving": 8_000,
    "training": 1_000,
    "scavenger": 100,
}
CLASSES = {f"{tier}-v1": value for tier, value in TIERS.items()}
NEVER_PREEMPTS = (
    "training",
    "scavenger",
)  # tiers: their work waits until GPUs are free
NEVER = tuple(f"{tier}-v1" for tier in NEVER_PREEMPTS)


def scaled_limit(units: int, scale: float) -> int:
    """A quota in a fleet of another size: enough for one large job."""
    return max(round(units * scale), min(units, 8))
