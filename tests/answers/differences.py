"""Where two dumps differ: by address, with the first texts that are not the same."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from tests.answers.asking import Answer

FIGURE = re.compile(r"\d[\d,.]*")
SHOWN = 5  # of the texts of one address
LONGEST = 4_000  # texts that difflib compares; longer answers are compared in place


@dataclass(frozen=True)
class Difference:
    """One address whose answers are not the same.

    Attributes:
        count: of texts that differ.
        examples: the first ones: before, after.
    """

    who: str
    at: str
    count: int
    examples: Sequence[tuple[str, str]]

    def lines(self) -> Iterator[str]:
        """As a person reads it."""
        yield f"{self.who} {self.at}: {self.count}"
        for before, after in self.examples:
            yield f"    - {before[:300]}"
            yield f"    + {after[:300]}"


def read(path: Path) -> dict[tuple[str, str], Answer]:
    """The answers of a dump by who asked for what."""
    with path.open(encoding="utf-8") as lines:
        found = [Answer(**json.loads(line)) for line in lines]
    return {(one.who, one.at): one for one in found}


def differences(
    before: Mapping[tuple[str, str], Answer],
    after: Mapping[tuple[str, str], Answer],
    *,
    only_figures: bool = False,
) -> Iterator[Difference]:
    """Each address of the first dump that the second answers otherwise, or does not have.

    Args:
        only_figures: compare the numbers in the texts, in their order, not the words.
    """
    for key, one in before.items():
        other = after.get(key)
        if other is None:
            yield Difference(*key, 1, [(str(one.status), "not asked")])
        elif (one.status, one.kind) != (other.status, other.kind):
            seen = [(f"{answer.status} {answer.kind}") for answer in (one, other)]
            yield Difference(*key, 1, [(seen[0], seen[1])])
        else:
            texts = [_figures(a.said) if only_figures else a.said for a in (one, other)]
            if texts[0] != texts[1]:
                found = [*_pairs(*texts)]
                yield Difference(*key, len(found), found[:SHOWN])


def _figures(said: Sequence[str]) -> list[str]:
    return [figure.rstrip(".,") for text in said for figure in FIGURE.findall(text)]


def _pairs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    if len(before) == len(after) or max(len(before), len(after)) > LONGEST:
        longest = max(len(before), len(after))
        for n in range(longest):
            one, other = (said[n] if n < len(said) else "" for said in (before, after))
            if one != other:
                yield one, other
        return
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, end, start_after, end_after in matcher.get_opcodes():
        if tag != "equal":
            yield (
                " | ".join(before[start:end]),
                " | ".join(after[start_after:end_after]),
            )
