"""MIG profiles: the share of a GPU that an instance is (traps T9, T12, T13).

A profile's name alone does not determine it: `1g.10gb` is 2 of 8 memory slices of an A100 40 GB
and 1 of 8 of an A100 80 GB. Sources: NVIDIA MIG user guide; mig-parted `config-default.yaml` and
its Hopper and Blackwell examples; the grammar from go-nvlib `mig_profile.go`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

_NAME = re.compile(
    r"(?:(?P<ci>\d+)c\.)?(?P<gi>\d+)g\.(?P<gb>\d+)gb(?P<attributes>(?:[+-][a-z.]+)*)"
)
_Row = tuple[str, int, Fraction]  # profile, most per GPU, memory share
_MEMORY_SLICES = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}  # of 8; on GPUs with 4, of 4


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of a profile's name.

    Attributes:
        compute: slices of the compute instance; those of the GPU instance if the name has no
            `Xc.`.
        slices: of the GPU instance.
        gigabytes: of memory, rounded as in the name.
        attributes: `+me`, `-me`, `+gfx`, `+me.all` or none.
    """

    compute: int
    slices: int
    gigabytes: int
    attributes: str = ""

    @property
    def base(self) -> str:
        """The GPU instance without attributes: `1g.10gb`."""
        return f"{self.slices}g.{self.gigabytes}gb"


@dataclass(frozen=True, slots=True)
class ProfileShape:
    """The size of a profile on one GPU.

    Attributes:
        compute, memory: shares of the GPU.
        most: maximum number of instances on one GPU.
        is_known: the model is in the table.
    """

    compute: Fraction
    memory: Fraction
    most: int
    is_known: bool = True


def parse(name: str) -> Profile | None:
    """A profile name of any spelling (`1g.10gb+me`, `1g.10gb.me`); None for others."""
    found = _NAME.fullmatch(normal(name))
    if found is None:
        return None
    slices = int(found["gi"])
    compute = int(found["ci"] or slices)
    return Profile(compute, slices, int(found["gb"]), found["attributes"])


def normal(name: str) -> str:
    """One spelling: `+me` for the `.me` of resources and labels."""
    head, marker, rest = name.strip().lower().partition("gb")
    if marker and rest.startswith("."):
        rest = "+" + rest[1:]
    return head + marker + rest


# By parts of a model's name: the profiles of 1 slice, 1 with double memory, 2, 3, 4 and 7.
_SEVENTHS: Sequence[tuple[str, str]] = (
    ("a100 40gb", "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"),
    ("a100", "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
    ("h100 nvl", "1g.12gb 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"),
    ("h100 96gb", "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
    ("h100", "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
    ("h20", "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
    ("h200", "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"),
    ("gh200 144g", "1g.18gb 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb"),
    ("gh200", "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
    ("b200", "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"),
    ("gb200", "1g.23gb 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb"),
    ("gb200", "1g.24gb 1g.47gb 2g.47gb 3g.95gb 4g.95gb 7g.189gb"),
    ("b300", "1g.34gb 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"),
    ("gb300", "1g.35gb 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"),
)
_QUARTERS: Sequence[tuple[str, str]] = (  # of 1, 2 and 4 slices
    ("a30", "1g.6gb 2g.12gb 4g.24gb"),
    ("rtx pro 6000", "1g.24gb 2g.48gb 4g.96gb"),
)
_MOST_OF_SEVEN, _EIGHTHS = (7, 4, 3, 2, 1, 1), (1, 2, 2, 4, 4, 8)
_MOST_OF_FOUR, _FOURTHS = (4, 2, 1), (1, 2, 4)


def slices_of(model: str) -> int:
    """Compute slices of one GPU: 7, or 4 on A30 and RTX PRO (rules.md "Units")."""
    words = _words(model)
    return 4 if "a30" in words or {"rtx", "pro"} <= words else 7


def shape_of(name: str, model: str) -> ProfileShape | None:
    """The size of a profile on one GPU of a model.

    A name that differs by rounding from one of the table is that one (`known_name`). For a model
    or a profile that is not in the table, the numbers in the profile's name are used.

    Returns:
        None for a name that is not a profile, and for a profile larger than a GPU.
    """
    profile = parse(name)
    total = slices_of(model)
    if profile is None or not 0 < profile.compute <= profile.slices <= total:
        return None
    compute = Fraction(profile.compute, total)
    part = Fraction(profile.compute, profile.slices)  # of the instance's memory
    row = _row_of(profile, _rows(model))
    if row is not None:
        _, most, memory = row
        has_only_one = "+me" in profile.attributes
        return ProfileShape(compute, memory * part, 1 if has_only_one else most)
    eighths = Fraction(_MEMORY_SLICES.get(profile.slices, profile.slices), 8)
    memory = eighths if total == 7 else Fraction(profile.slices, total)
    most = total // profile.slices
    return ProfileShape(compute, memory * part, most, is_known=False)


@lru_cache(maxsize=10_000)
def known_name(name: str, model: str) -> str:
    """The spelling of the table for a profile whose gigabytes differ from it by rounding.

    Pairs of drivers and DCGM compute the gigabytes from the memory that is left, so that
    dcgm-exporter writes `7g.79gb` where the resource is `mig-7g.80gb` (NVIDIA/dcgm-exporter#713).
    Any other name is returned as `normal`.
    """
    profile = parse(name)
    row = None if profile is None else _row_of(profile, _rows(model))
    if profile is None or row is None or row[0] == profile.base:
        return normal(name)
    return normal(name).replace(profile.base, row[0])


def is_read_by_numbers(name: str, model: str) -> bool:
    """True for a profile that the table does not have, although it has the GPU's model."""
    profile, rows = parse(name), _rows(model)
    return profile is not None and bool(rows) and _row_of(profile, rows) is None


def fault_of(name: str, model: str) -> str:
    """Why no instance of a GPU model can have this profile, as text; empty if it is possible."""
    profile = parse(name)
    if profile is None:
        return f"{name!r} is not a valid MIG profile. Examples: 1g.10gb, 1g.10gb+me."
    rows = _rows(model)
    known = ", ".join(base for base, _, _ in rows)
    if profile.base in known.split(", ") or (not rows and shape_of(name, model)):
        return ""
    if rows:
        return f"{model} has no profile {normal(name)}; it has {known}."
    return f"{normal(name)} is more than one {model}."


def known_models() -> list[str]:
    """The models of the table, by the parts of their names."""
    return list(dict.fromkeys(name for name, _ in (*_SEVENTHS, *_QUARTERS)))


def profiles_of(model: str) -> list[tuple[str, ProfileShape]]:
    """Every profile of a model of the table, with its share of the GPU."""
    found = [(base, shape_of(base, model)) for base, _, _ in _rows(model)]
    return [(base, shape) for base, shape in found if shape is not None]


def _words(model: str) -> set[str]:
    """The parts of a model's name, without the profile in it under MIG's single strategy.

    `NVIDIA-A100-SXM4-80GB-MIG-3g.40gb` is not an A100 of 40 GB.
    """
    card = re.split(r"[^a-z0-9]mig[^a-z0-9]", model.lower())[0]
    words = set(re.split(r"[^a-z0-9]+", card))
    if words == _GKE_A100_40GB:
        words.add("40gb")
    return words


@lru_cache(maxsize=1000)
def _rows(model: str) -> Sequence[_Row]:
    """(profile, most per GPU, memory share) of a model, from its longest matching row."""
    words = _words(model)
    fitting = [
        (len(named.split()), named)
        for named, _ in (*_SEVENTHS, *_QUARTERS)
        if words.issuperset(named.split())
    ]
    if not fitting:
        return ()
    _, best = max(fitting)
    return (
        *_row(best, _SEVENTHS, _MOST_OF_SEVEN, _EIGHTHS, 8),
        *_row(best, _QUARTERS, _MOST_OF_FOUR, _FOURTHS, 4),
    )


def _row_of(profile: Profile, rows: Sequence[_Row]) -> _Row | None:
    """The row with as many slices, and gigabytes that differ by 1 or a tenth at most."""
    distances = []
    for row in rows:
        known = parse(row[0])
        if known is not None and known.slices == profile.slices:
            apart = abs(known.gigabytes - profile.gigabytes)
            if apart <= max(1, known.gigabytes // 10):
                distances.append((apart, row))
    return min(distances)[1] if distances else None


def _row(
    best: str,
    table: Sequence[tuple[str, str]],
    most: Sequence[int],
    memory: Sequence[int],
    total: int,
) -> Iterable[tuple[str, int, Fraction]]:
    for named, profiles in table:
        if named == best:
            parts = zip(profiles.split(), most, memory, strict=True)
            for profile, count, slices in parts:
                yield profile, count, Fraction(slices, total)


_GKE_A100_40GB = {"nvidia", "tesla", "a100"}  # that of 80 GB is nvidia-a100-80gb


class Policy(StrEnum):
    """Which share of a unit is its weight; the name is shown next to figures."""

    COMPUTE = "compute"
    MEMORY = "memory"
    DOMINANT = "dominant"  # max of both, made to add up to the GPU


def weights(shapes: Sequence[ProfileShape], policy: Policy) -> list[Fraction]:
    """The weight of every instance of one GPU's geometry (traps T12, T13).

    The larger of compute and memory share does not add up to 1 on a GPU (a common layout has
    15/14): if the sum is above 1, all are divided by it.
    """
    if policy is Policy.COMPUTE:
        return [shape.compute for shape in shapes]
    if policy is Policy.MEMORY:
        return [shape.memory for shape in shapes]
    raw = [max(shape.compute, shape.memory) for shape in shapes]
    total = max(Fraction(1), sum(raw, Fraction(0)))
    return [weight / total for weight in raw]
