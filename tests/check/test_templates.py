"""What templates must keep besides their format: lines that fit a laptop's screen.

`make templates` (in `test_code.py`) checks the format itself.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES, STYLES = ROOT / "templates", ROOT / "static" / "css"
CURRENT = re.compile(r"\.([\w-]+)\[aria-current")
MARKED_OTHERWISE = {"on", "brand", "chip", "square"}
"""Pressed buttons, and what the frame of every page has: the title says which page it is."""
CLASS, TAG = re.compile(r'class="([^"]*)"'), re.compile(r"{%.*?%}")
STUCK = re.compile(r"(</(a|strong|code|em)>|}})[A-Za-z]{3,}")
WIDEST = 160
"""Characters. The formatter breaks at 120, but cannot break a Django tag or an attribute."""


def test_no_line_is_wider_than_a_screen() -> None:
    files = sorted(TEMPLATES.rglob("*.html"))
    assert files
    wide = [
        f"{path.relative_to(TEMPLATES)}:{number}: {len(line)} characters"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > WIDEST
    ]
    assert not wide, "\n".join(wide)


def test_no_word_sticks_to_the_end_of_a_tag_or_a_value() -> None:
    """A formatter or a rewording can lose the space after a link or a value."""
    stuck = [
        f"{path.relative_to(TEMPLATES)}:{number}: {found[0]}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if (found := STUCK.search(line))
    ]
    assert not stuck, "\n".join(stuck)


def test_what_is_chosen_can_be_seen() -> None:
    """A link that is current for a screen reader has a class whose style marks it."""
    css = "".join(path.read_text() for path in sorted(STYLES.glob("*.css")))
    marking = {*CURRENT.findall(css), *MARKED_OTHERWISE}
    tags = [
        (path.relative_to(TEMPLATES), tag)
        for path in sorted(TEMPLATES.rglob("*.html"))
        for tag in re.findall(r"<a\b[^>]*aria-current[^>]*>", path.read_text())
    ]
    assert len(tags) > 20
    plain = [
        f"{path}: {tag}"
        for path, tag in tags
        if not marking & set(TAG.sub(" ", " ".join(CLASS.findall(tag))).split())
    ]
    assert not plain, "\n".join(plain)
