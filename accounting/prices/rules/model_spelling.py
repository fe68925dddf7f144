"""Which known GPU models the text of a price list names (money.md M20).

Price lists spell a model as `A100`, `A100 (80 GB)` or `NVIDIA A100-SXM4-80GB`. A text names every
known model whose words contain all of its words.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches

_WORD = re.compile(r"[^\W_]+")
_MEMORY = re.compile(r"([0-9]{1,4})gb")
MAKERS = frozenset({"nvidia", "tesla", "geforce", "quadro", "amd", "instinct"})
WITHIN = 10  # a memory matches if it is at most a tenth off


def words_of(text: str) -> frozenset[str]:
    """The words of a model: casefolded, without makers and brands; `80 gb` is `80gb`."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if word == "gb" and found and found[-1].isdigit():
            found[-1] += word
        else:
            found.append(word)
    return frozenset(found) - MAKERS


def memory_of(model: str) -> Decimal | None:
    """The memory of a model by its `<n>gb` word, in GiB; None without one."""
    sizes = [found[1] for word in words_of(model) if (found := _MEMORY.fullmatch(word))]
    return Decimal(sizes[0]) if len(sizes) == 1 else None


class Spelling:
    """The known models by their words.

    Attributes:
        aliases: texts that name exactly one model, whatever is known.
    """

    def __init__(
        self, models: Iterable[str], aliases: Mapping[str, str] | None = None
    ) -> None:
        self.aliases = aliases or {}
        self._words = {model: words_of(model) for model in sorted(set(models))}
        self._memory = {model: memory_of(model) for model in self._words}
        self._found: dict[str, tuple[str, ...]] = {}

    def models_of(self, text: str, memory: Decimal | None = None) -> Collection[str]:
        """The models that a text names; empty if none.

        Args:
            text: as the price list spells it.
            memory: of one GPU in GiB, if the list has it; models of another size are left out.
        """
        if text in self.aliases:
            return (self.aliases[text],)
        if text not in self._found:
            asked = words_of(text)
            self._found[text] = tuple(
                model
                for model, words in self._words.items()
                if asked and asked <= words
            )
        return tuple(model for model in self._found[text] if self._fits(model, memory))

    def closest(self, text: str) -> str:
        """The known model whose words resemble the text most; "" if none does."""
        by_words = {" ".join(sorted(words)): m for m, words in self._words.items()}
        asked = " ".join(sorted(words_of(text)))
        found = get_close_matches(asked, by_words, n=1)
        return by_words[found[0]] if found else ""

    def _fits(self, model: str, memory: Decimal | None) -> bool:
        size = self._memory[model]
        return memory is None or size is None or abs(size - memory) * WITHIN <= memory
