"""The sentence with which a page of spend begins, from the figures that the page shows."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from accounting.core.money import amount_of
from accounting.kit.tags import units
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.breakdown import Breakdown
from accounting.usage.rules.comparison import Comparison
from accounting.usage.rules.sentence import (
    Sentence,
    Spend,
    SpendCause,
    before_words,
    range_words,
    spend_sentences,
)
from accounting.usage.tags import before_text


def spend_lede(
    state: PageState,
    found: Breakdown,
    missing: Sequence[object],
    who: str,
    causes: Iterable[SpendCause],
) -> list[Sentence]:
    """What a page's selection cost.

    Args:
        state, found: of the page.
        missing: days of the range without data.
        who: `Teams`, or the name of a team.
        causes: what may explain the change, the largest first.
    """
    total = found.summary.total
    when = range_words(state.days, state.today, state.label)
    before = ""
    if state.before is not None:
        before = before_words(state.days, state.before, when, before_text(state))
    return spend_sentences(
        Spend(
            who="" if state.filters or state.cluster else who,
            when=when,
            before=before,
            amount=None if total.currencies else amount_of(total.charge),
            held=f"{units.gpu_hours(total.allocated_ms)} GPU-h",
            money=lambda amount: units.money_round(amount, state.currency),
            is_partial=bool(total.unpriced_ms),
            change=found.summary.charge,
            has_gaps=bool(missing),
            causes=[*causes],
            idle_share=found.summary.idle_share,
            coverage=total.coverage,
        )
    )


class ChangedLine(Protocol):
    """A row of a table with a column "Change"."""

    @property
    def name(self) -> str: ...
    @property
    def change(self) -> Comparison | None: ...


def causes_of(lines: Iterable[ChangedLine]) -> list[SpendCause]:
    """Rows by the change of their spend, as their table has it; the largest first."""
    found = [
        SpendCause(line.name, line.change.difference)
        for line in lines
        if line.change is not None and not line.change.doubt
    ]
    return sorted(found, key=lambda one: (-abs(one.difference), one.name))
