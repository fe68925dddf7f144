"""Columns that a reader hides: `?hide=coverage,idle`; the first ones are always shown."""

from collections.abc import Mapping

from accounting.kit.pages.addresses import Choice
from accounting.usage.pages.page_state import PageState

TEAM_COLUMNS = {
    "charge": "Charge",
    "change": "Change",
    "allocated": "Allocated GPU-h",
    "efficiency": "Busy share",
    "coverage": "Coverage",
    "idle": "Idle GPU-h",
    "idle_charge": "Idle cost",
}
WORKLOAD_COLUMNS = {
    "kind": "Kind",
    "model": "GPU model",
    **{name: label for name, label in TEAM_COLUMNS.items() if name != "change"},
}

FAMILY_COLUMNS = {
    "runs": "Runs",
    "model": "GPU model",
    "charge": "Charge",
    "change": "Change",
    "allocated": "GPU-h",
    "efficiency": "Busy share",
    "idle_charge": "Idle cost",
}

HARD_COLUMNS = {  # GPU activity in addition to busy time: shown with `?show=hard`
    "sm": "SM",
    "tensor": "Tensor",
    "dram": "DRAM",
    "memory": "Peak memory",
    "energy": "Energy",
}


def hidden_columns(state: PageState, offered: Mapping[str, str]) -> tuple[str, ...]:
    """The hidden columns of the address, in the order of the table; at least one is shown."""
    wanted = set(state.query.get("hide", "").split(","))
    hidden = tuple(name for name in offered if name in wanted)
    return hidden if len(hidden) < len(offered) else ()


def column_choices(state: PageState, offered: Mapping[str, str]) -> dict[str, object]:
    """For templates: the menu, and the classes that hide columns of the table."""
    hidden = hidden_columns(state, offered)
    menu = []
    for name, label in offered.items():
        after = [n for n in offered if (n in hidden) != (n == name)]
        url = state.url(hide=",".join(after))
        menu.append(Choice(name, label, url, is_current=name not in hidden))
    return {
        "menu": menu,
        "css": " ".join(f"hide-{name}" for name in hidden),
        "all_url": state.url(hide="") if hidden else "",
    }
