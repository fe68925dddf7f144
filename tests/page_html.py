"""Pages as a browser reads them: how a template is broken into lines does not count."""

import re
from typing import Any

BLOCKS = (
    "button|dd|div|dl|dt|form|h[1-6]|label|legend|li|main|nav|ol|option|p|section|"
    "select|summary|table|tbody|td|tfoot|th|thead|title|tr|ul"
)
KEPT = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)


def html_of(answer: Any) -> str:
    """The HTML of a response: single spaces, and none beside the tags of blocks."""
    parts = KEPT.split(answer.content.decode())
    return "".join(
        part if index % 2 else _collapsed(part) for index, part in enumerate(parts)
    )


def _collapsed(html: str) -> str:
    html = re.sub(r"\s+", " ", html).replace(" >", ">")
    return re.sub(rf" ?(</?(?:{BLOCKS})\b[^>]*>) ?", r"\1", html)
