"""What becomes of a verb: it is done, or refused. REST, pages and commands make an answer of it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Done:
    """What a verb did.

    Attributes:
        number: of the item that it was done to, or that it made.
        is_new: whether it made it.
        text: what a page says about it, where the text of the verb does not say enough.
    """

    number: int
    is_new: bool = False
    text: str = ""


class RefusalCode(StrEnum):
    """Why an action is refused."""

    INVALID = "invalid"
    """A value cannot be used: 400 over REST, an error of the form on a page."""

    CONFLICT = "conflict"
    """What is stored does not allow it now: 409 over REST."""

    FORBIDDEN = "forbidden"
    """This person may not do it: 403."""

    MISSING = "missing"
    """It does not exist, or this person cannot see it: 404."""


class Refused(ValueError):
    """An action is refused, and nothing was changed.

    Attributes:
        code: why.
        member: of the body or form that is wrong; "" for all of it.
    """

    code = RefusalCode.INVALID
    member = ""

    def __init__(
        self, text: str, code: RefusalCode | None = None, member: str = ""
    ) -> None:
        super().__init__(text)
        self.code = code or self.code
        self.member = member or self.member

    @property
    def sentence(self) -> str:
        """The text as a sentence, for pages."""
        text = str(self)
        return f"{text[:1].upper()}{text[1:]}."
