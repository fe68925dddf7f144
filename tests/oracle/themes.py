"""Random small fleets in which a certain thing happens, on top of what happens in all.

Each theme changes an ordinary fleet. Sharded kube-state is mixed into the others too, as
most of what it changes shows only where something else happens.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hypothesis import strategies as st

from tests.oracle.changes import each_node, fitting, more_pods, named_pod
from tests.oracle.dice import Dice, OfHypothesis, flag, maybe, number, pick, shuffled
from tests.oracle.draws import LENGTHS, a_plan, a_span
from tests.oracle.plans import NEVER, Foreign, KubePlan, NodePlan, Plan, Span
from tests.oracle.samples import ENGINE_RATIO, UTIL_RATIO
from tests.oracle.shapes import A100, LAYOUTS, Shape

LIFECYCLES = (
    ("label_eks_amazonaws_com_capacity_type", "SPOT"),
    ("label_eks_amazonaws_com_capacity_type", "ON_DEMAND"),
    ("label_karpenter_sh_capacity_type", "spot"),
    ("label_cloud_google_com_gke_spot", "true"),
    ("label_kubernetes_azure_com_scalesetpriority", "spot"),
)
HOUR = 3600
LONG = 9000  # seconds: two and a half hours
SLOW = 60  # seconds between scrapes in a long fleet
Change = Callable[[Dice, Plan], Plan]


# --- kube-state ----------------------------------------------------------------------


def sharded(dice: Dice, plan: Plan) -> Plan:
    """Two to four shards of kube-state, often with replicas; one may fall silent."""
    shards = number(dice, 2, 4)
    of = number(dice, 0, shards - 1)
    quiet = maybe(dice, lambda: (of, a_span(dice, plan.length)))
    kube = replace(
        plan.kube,
        shards=shards,
        replicas=pick(dice, [1, 1, 2]),
        has_jobs=pick(dice, [False, False, False, True]),
        quiet=quiet,
    )
    plan = replace(plan, kube=kube, has_kube=True)
    has_vanished = any(pod.uid == "uid-21" for pod in plan.pods)
    return vanishing(dice, plan) if flag(dice) and not has_vanished else plan


def restarted(dice: Dice, plan: Plan) -> Plan:
    """kube-state has another instance after a while, and few samples at first."""
    start = number(dice, 60, plan.length - 60)
    silent = pick(dice, [0, 0, 45, 200, 1200])
    step = pick(dice, [15, 60, 60, 120])
    kube = replace(plan.kube, restart=Span(start, start + silent), step=step)
    return replace(plan, kube=kube, has_kube=True, interval=None)


def silent(dice: Dice, plan: Plan) -> Plan:
    """Pods are bound while kube-state is silent: some were Pending, some reuse a name."""
    start = number(dice, 120, plan.length - 320)
    last = plan.length - 90 if pick(dice, [True, True, False]) else plan.length + 300
    quiet = Span(start, min(start + number(dice, 200, 900), last))
    waiting = named_pod(dice, plan, 11, "waits")
    bound = number(dice, quiet.start + 10, quiet.end - 40)
    waiting = replace(
        waiting,
        bound=bound,
        pending=bound - quiet.start + number(dice, 40, 110),
        end=pick(dice, [None, bound + 60, quiet.end - 20]),
        labels=pick(dice, ["all", "all", "some"]),
    )
    first = named_pod(dice, plan, 12, "again")
    first = replace(first, bound=number(dice, 0, quiet.start - 60), how="gone")
    end = number(dice, quiet.start + 10, quiet.end - 40)
    first = replace(first, end=end, labels="all", has_schedule=True)
    second = replace(
        first,
        uid="uid-13",
        bound=end + number(dice, 0, 60),
        pending=0,
        end=None if flag(dice) else quiet.end + 90,
        has_schedule=pick(dice, [True, True, False]),
        has_uid=first.has_uid and flag(dice),
    )
    kube = replace(plan.kube, outages=(*plan.kube.outages[:1], quiet))
    plan = replace(plan, kube=kube, has_kube=True)
    return more_pods(plan, *shuffled(dice, [waiting, first, second]))


def vanishing(dice: Dice, plan: Plan) -> Plan:
    """Node objects vanish for a few scrapes and come back, with or without their pods."""
    pod = replace(
        named_pod(dice, plan, 21, "stays"), bound=-60, pending=10, labels="all"
    )
    pod = replace(pod, end=pick(dice, [None, plan.length - 30]))

    def change(node: NodePlan) -> NodePlan:
        start = number(dice, 60, plan.length - 120)
        length = number(dice, 2 * plan.kube.step, 8 * plan.kube.step)
        span = Span(start, start + length)
        if flag(dice):
            return replace(node, missing=span)
        return replace(node, gone=span, returns=flag(dice))

    return each_node(dice, replace(more_pods(plan, pod), has_kube=True), change)


def foreign(dice: Dice, plan: Plan) -> Plan:
    """A second kube-state beside the first, under a job of its own."""
    shows = pick(dice, ["copies", "copies", "strangers", "nodes"])
    job = pick(dice, ["evil", "evil", ""])
    kube = replace(plan.kube, foreign=Foreign(job, a_span(dice, plan.length), shows))
    jobs = pick(dice, [(), (), ("dcgm", "kube-state-metrics")])
    return replace(plan, kube=kube, has_kube=True, jobs=jobs)


# --- exporters -----------------------------------------------------------------------


def invented(dice: Dice, plan: Plan) -> Plan:
    """An exporter invents UUIDs, or a node gets a GPU before kube-state says so."""

    def change(node: NodePlan) -> NodePlan:
        return replace(
            node,
            fakes=pick(dice, [1, 1, 2]),
            faked=a_span(dice, plan.length, 2 * plan.length),
            fake_name=pick(dice, ["AAA", "GPU-z"]),
            fake_pod=pick(dice, ["", "train", "pod-0"]),
            grows=maybe(dice, lambda: number(dice, 60, plan.length)),
            silent_until=pick(dice, [0, 0, 200]),
        )

    return each_node(dice, replace(plan, has_kube=True), change)


def suspect(dice: Dice, plan: Plan) -> Plan:
    """MIG instances show zeros, while utilisation or power says that they work."""
    layouts = LAYOUTS[A100]

    def change(node: NodePlan) -> NodePlan:
        layout = pick(dice, layouts)
        zeros = pick(dice, ["util", "power"])
        shape = Shape("mixed", A100, layouts=(layout,))
        return replace(node, shape=shape, zeros=zeros)

    return fitting(each_node(dice, plan, change))


def percent(dice: Dice, plan: Plan) -> Plan:
    """Names of ratios, under which percent is shown for a while; bad values are copied."""

    def change(node: NodePlan) -> NodePlan:
        shape = node.shape
        if flag(dice):
            naming = pick(dice, ["copies", "vgpu", "process"])
            shape = Shape("shared", A100, replicas=4, naming=naming)
        shown = a_span(dice, plan.length) if pick(dice, [False, True, True]) else NEVER
        return replace(node, shape=shape, has_ratios=True, percent=shown)

    plan = each_node(dice, plan, change)
    wide = [  # so that one value is copied for four holders
        replace(named_pod(dice, plan, 31 + n, f"wide-{n}"), node=n, units=4, bound=-60)
        for n, node in enumerate(plan.nodes)
        if node.shape.kind == "shared"
    ]
    plan = fitting(more_pods(plan, *(replace(pod, labels="all") for pod in wide)))
    scale = pick(dice, ["ratio", "percent"])
    declared = (UTIL_RATIO, scale), (ENGINE_RATIO, scale)
    scales = pick(dice, [(), (), (), declared[:1], declared])
    return replace(plan, odd=pick(dice, [0.0, 0.02, 0.02, 0.1]), scales=scales)


def divided(dice: Dice, plan: Plan) -> Plan:
    """Ratios under names of whole percentages; for a while only 0 and exactly 1 under them."""
    is_whole = pick(dice, [True, True, False])

    def even(node: NodePlan) -> NodePlan:
        return replace(
            node,
            metrics=pick(dice, ["util", "util", "mixed"]),
            is_whole=is_whole,
            even=a_span(dice, plan.length, plan.length),
        )

    def change(node: NodePlan) -> NodePlan:
        ever = Span(0, plan.length + 60)
        return replace(node, ratios=pick(dice, [ever, ever, a_span(dice, plan.length)]))

    plan = replace(plan, nodes=tuple(even(node) for node in plan.nodes))
    return each_node(dice, plan, change)


# --- time ----------------------------------------------------------------------------


def lasting(dice: Dice, plan: Plan) -> Plan:
    """Hours: labels of old, another job that takes over, GPUs invented late."""
    step = pick(dice, [SLOW, 2 * SLOW])
    nodes = [replace(node, step=step, replicas=1) for node in plan.nodes]
    end = number(dice, 2800, 4200)
    back = pick(dice, [LONG, LONG, end + HOUR + 1000])
    later = max(end, HOUR) + number(dice, 10, 900)  # than the first hour
    other = Span(later, pick(dice, [back, LONG]))
    kube = KubePlan(step=step)
    cases = ["renamed", "taken", "beside", "quiet", "restarted", "same"]
    match pick(dice, cases):
        case "renamed":
            kube = replace(kube, renamed=other, outages=(Span(end, other.start),))
        case "taken":
            foreign = Foreign("other", other, "nodes")
            kube = replace(kube, foreign=foreign, outages=(Span(end, back),))
        case "beside":  # a job that was seen beside the first one takes nothing over
            span = Span(HOUR + 300, LONG)
            kube = replace(kube, foreign=Foreign("other", span, "nodes"))
            kube = replace(kube, outages=(Span(HOUR + 900, LONG),))
        case "restarted":  # after so long that no step of before is in reach
            kube = replace(kube, restart=Span(end, end + number(dice, 1300, 2000)))
        case "quiet":
            kube = replace(kube, outages=(Span(end, end + HOUR + 600),))
    pods = [
        replace(pod, labels=pick(dice, ["early", "early", "all"])) for pod in plan.pods
    ]
    plan = replace(plan, nodes=tuple(nodes), pods=tuple(pods), kube=kube, lost=0.0)
    return replace(plan, has_kube=True, interval=None)


def retired(dice: Dice, plan: Plan) -> Plan:
    """The cluster ended, while its samples went on or had stopped before."""
    end = plan.length + (600 if pick(dice, [False, False, True]) else -60)
    return replace(plan, retired=number(dice, 100, end))


def priced(dice: Dice, plan: Plan) -> Plan:
    """Nodes say how they are paid for; no GPU changes its node."""

    def change(node: NodePlan) -> NodePlan:
        return replace(node, lifecycle=pick(dice, LIFECYCLES))

    return each_node(dice, replace(plan, has_kube=True, move=None), change)


def ordinary(_dice: Dice, plan: Plan) -> Plan:
    """Nothing more."""
    return plan


# What is changed, and the kind of fleet it is changed in.
THEMES: Mapping[str, tuple[Change, str]] = {
    "sharded": (sharded, "whole"),
    "sharded and divided": (sharded, "shaped"),
    "restarted": (restarted, "whole"),
    "silent": (silent, "whole"),
    "vanishing": (vanishing, "whole"),
    "foreign": (foreign, "whole"),
    "invented": (invented, "whole"),
    "AMD": (ordinary, "amd"),
    "suspect": (suspect, "shaped"),
    "percent": (percent, "whole"),
    "lasting": (lasting, "whole"),
    "retired": (retired, "whole"),
    "priced": (priced, "whole"),
    "divided": (ordinary, "shaped"),
    "ordinary": (ordinary, "whole"),
    "divided by 100": (divided, "whole"),
}
NAMES = list(THEMES)


def a_fleet(dice: Dice, theme: str) -> Plan:
    """A fleet of a theme; some of every theme have a sharded kube-state."""
    change, kind = THEMES[theme]
    length = LONG if theme == "lasting" else pick(dice, LENGTHS)
    plan = a_plan(dice, is_shaped=kind == "shaped", length=length, kind=kind)
    plan = change(dice, plan)
    mixes = theme not in {"sharded", "sharded and divided", "lasting"}
    if mixes and pick(dice, [False, False, False, True]):
        plan = sharded(dice, plan)
    return plan


@st.composite
def fleets(draw: st.DrawFn) -> Plan:
    """A fleet of any theme, as Hypothesis draws it."""
    dice = OfHypothesis(draw)
    return a_fleet(dice, pick(dice, NAMES))
